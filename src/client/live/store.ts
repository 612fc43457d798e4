/** A value that changes over time. React, Svelte, Solid and Vue can bind to this interface. */
export interface Store<T> {
  /** Returns the current value. Until the value changes, every call returns the same object. */
  get(): T;
  /** Returns the first value, with which a server has rendered the page. Default: `get`. */
  initial?(): T;
  /**
   * Calls `listener` immediately, and at the end of each tick in which the value has changed.
   * Returns a function that unsubscribes.
   */
  subscribe(listener: (value: T) => void): () => void;
}

/**
 * Returns a store and a function that reports a change of its value. After a change, `get` computes
 * the value again. Several changes in one tick call each listener once, at the end of the tick.
 * `open` is called when the first listener subscribes. The function that `open` returns is called
 * when the last listener has left.
 */
export function createStore<T extends NonNullable<unknown>>(
  compute: () => T,
  open: () => () => void,
): readonly [store: Store<T>, change: () => void] {
  const first = compute();
  /** Undefined if the value has changed and has not been read since. */
  let value: T | undefined = first;
  let isScheduled = false;
  let close = () => {};
  const listeners = new Set<() => void>();

  const get = () => value ??= compute();
  const store: Store<T> = {
    get,
    initial: () => first,
    subscribe(listener) {
      // Each subscription needs its own object, because the same listener may subscribe twice.
      const entry = () => listener(get());
      listeners.add(entry);
      if (listeners.size === 1) close = open();
      entry();
      return () => {
        if (listeners.delete(entry) && listeners.size === 0) close();
      };
    },
  };
  return [store, () => {
    value = undefined;
    if (isScheduled) return;
    isScheduled = true;
    queueMicrotask(() => {
      isScheduled = false;
      // An error in one listener does not stop the others.
      for (const call of listeners) queueMicrotask(() => listeners.has(call) && call());
    });
  }];
}

/** Throws an error asynchronously, so that the caller continues with the other listeners. */
export function throwLater(error: unknown): void {
  queueMicrotask(() => {
    throw error;
  });
}
