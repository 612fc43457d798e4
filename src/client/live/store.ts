/**
 * A value that changes: what React's `useSyncExternalStore`, Svelte's stores and the signals of
 * other frameworks are bound to.
 */
export interface Store<T> {
  /** The same object until it changes. */
  get(): T;
  /** Calls `listener` at once, and after each change; returns what ends that. */
  subscribe(listener: (value: T) => void): () => void;
}

/** Makes a store, and what sets its value; `open` runs for the first listener, its result after the last. */
export function createStore<T>(
  value: T,
  open: () => () => void,
): readonly [store: Store<T>, set: (value: T) => void] {
  let close = () => {};
  const listeners = new Set<() => void>();
  const store: Store<T> = {
    get: () => value,
    subscribe(listener) {
      // A function of its own, so that the same function may listen twice.
      const entry = () => listener(value);
      listeners.add(entry);
      if (listeners.size === 1) close = open();
      entry();
      return () => {
        if (listeners.delete(entry) && listeners.size === 0) close();
      };
    },
  };
  return [store, (next) => {
    value = next;
    for (const call of listeners) {
      try {
        call();
      } catch (error) {
        throwLater(error);
      }
    }
  }];
}

/** Shows an error to the program, and lets the caller continue: the stream of all lists must not end. */
export function throwLater(error: unknown): void {
  queueMicrotask(() => {
    throw error;
  });
}
