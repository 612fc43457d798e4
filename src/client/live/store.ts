/** A value that changes over time. React, Svelte, Solid and Vue can bind to this interface. */
export interface Store<T> {
  /** Returns the current value. Until the value changes, every call returns the same object. */
  get(): T;
  /** Returns the first value, with which a server has rendered the page. Default: `get`. */
  initial?(): T;
  /** Calls `listener` immediately and after each change. Returns a function that unsubscribes. */
  subscribe(listener: (value: T) => void): () => void;
}

/**
 * Returns a store and a function that sets its value. `open` is called when the first listener
 * subscribes. The function that `open` returns is called when the last listener has left.
 */
export function createStore<T>(
  first: T,
  open: () => () => void,
): readonly [store: Store<T>, set: (value: T) => void] {
  let value = first;
  let close = () => {};
  const listeners = new Set<() => void>();
  const store: Store<T> = {
    initial: () => first,
    get: () => value,
    subscribe(listener) {
      // Each subscription needs its own object, because the same listener may subscribe twice.
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

/** Throws an error asynchronously, so that the caller continues with the other listeners. */
export function throwLater(error: unknown): void {
  queueMicrotask(() => {
    throw error;
  });
}
