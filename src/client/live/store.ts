/**
 * A value that changes over time. React's `useSyncExternalStore`, Svelte's stores and the signals
 * of other frameworks can bind to it.
 */
export interface Store<T> {
<<<<<<< HEAD
  /** Returns the current value. It is the same object until the value changes. */
=======
  /** Returns the current value. The object changes only when the value changes. */
>>>>>>> f4e7f9ca (docs(cli, client): comments name their subjects)
  get(): T;
  /** Calls `listener` immediately and after each change. Returns a function that unsubscribes. */
  subscribe(listener: (value: T) => void): () => void;
}

/**
<<<<<<< HEAD
 * Returns a store and a function that sets its value. `open` is called for the first listener. The
 * function that `open` returns is called after the last listener was removed.
=======
 * Returns a store and a function that sets the value of the store. The first listener causes a call
 * of `open`. When the last listener has left, the function that `open` returned is called.
>>>>>>> f4e7f9ca (docs(cli, client): comments name their subjects)
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
<<<<<<< HEAD
      // A separate function for each call, so that one function can subscribe twice.
=======
      // The wrapper makes each subscription unique, even if one function subscribes twice.
>>>>>>> f4e7f9ca (docs(cli, client): comments name their subjects)
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
<<<<<<< HEAD
 * Reports an error to the program, while the caller continues. An error of one list must not end
 * the stream of all lists.
=======
 * Throws an error later, outside the caller. An error of one list must not end the stream of all
 * lists.
>>>>>>> f4e7f9ca (docs(cli, client): comments name their subjects)
 */
export function throwLater(error: unknown): void {
  queueMicrotask(() => {
    throw error;
  });
}
