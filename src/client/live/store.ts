/** A value that changes over time. React, Svelte, Solid and Vue can bind to this interface. */
export interface Store<T> {
  /** Returns the current value. The object changes only when the value changes. */
  get(): T;
  /** Calls `listener` immediately and after each change. Returns a function that unsubscribes. */
  subscribe(listener: (value: T) => void): () => void;
}

/**
 * Returns a store and a function that sets the value of the store. The first listener causes a call
 * of `open`. When the last listener has left, the function that `open` returned is called.
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
      // The wrapper makes each subscription unique, even if one function subscribes twice.
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

/** Throws an error outside the caller, because the other lists of a stream must continue. */
export function throwLater(error: unknown): void {
  queueMicrotask(() => {
    throw error;
  });
}
