/**
 * A value that changes over time. React's `useSyncExternalStore`, Svelte's stores and the signals
 * of other frameworks can bind to it.
 */
export interface Store<T> {
  /** Returns the current value. It is the same object until the value changes. */
  get(): T;
  /** Calls `listener` immediately and after each change. Returns a function that ends this. */
  subscribe(listener: (value: T) => void): () => void;
}

/**
 * Returns a store and a function that sets its value. `open` is called for the first listener. The
 * function that `open` returns is called after the last listener was removed.
 */
export function createStore<T>(
  value: T,
  open: () => () => void,
): readonly [store: Store<T>, set: (value: T) => void] {
  let close = () => {};
  const listeners = new Set<() => void>();
  const store: Store<T> = {
    get: () => value,
    subscribe(listener) {
      // A separate function for each call, so that one function can subscribe twice.
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

/**
 * Reports an error to the program, while the caller continues. An error of one list must not end
 * the stream of all lists.
 */
export function throwLater(error: unknown): void {
  queueMicrotask(() => {
    throw error;
  });
}
