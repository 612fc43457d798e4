/** A value that changes over time. React, Svelte, Solid and Vue can bind to this interface. */
export interface Store<T> {
  /** Returns the current value. Every call returns the same object until the value changes. */
  get(): T;
  /** Returns the value with which a server has rendered the page. Default: `get`. */
  initial?(): T;
  /** Calls `listener` now, and after each tick with a change. The result unsubscribes. */
  subscribe(listener: (value: T) => void): () => void;
}

/**
 * Creates a store. `open` runs at the first subscription, and its result at the end of the last
 * one. After a change, each listener is called once, at the end of the tick.
 */
export function createStore<T extends NonNullable<unknown>>(
  compute: () => T,
  open: () => () => void,
): readonly [store: Store<T>, change: () => void] {
  const first = compute();
  let value: T | undefined = first;
  let isScheduled = false;
  let close: (() => void) | undefined;
  const listeners = new Set<() => void>();

  const get = () => value ??= compute();
  const store: Store<T> = {
    get,
    initial: () => first,
    subscribe(listener) {
      // A separate function for each call, so that one listener can subscribe twice.
      const entry = () => listener(get());
      listeners.add(entry);
      if (listeners.size === 1) close = open();
      entry();
      return () => {
        if (listeners.delete(entry) && !listeners.size) close?.();
      };
    },
  };
  return [store, () => {
    value = undefined;
    if (isScheduled) return;
    isScheduled = true;
    queueMicrotask(() => {
      isScheduled = false;
      // Each call is separate, so an error in one listener does not stop the other listeners.
      for (const call of listeners) queueMicrotask(() => listeners.has(call) && call());
    });
  }];
}

/** If `work` throws, calls `fail`, and rethrows in a microtask, so that other listeners run. */
export function runSafely<T>(work: () => T, fail: () => void): T | undefined {
  try {
    return work();
  } catch (error) {
    fail();
    queueMicrotask(() => {
      throw error;
    });
    return undefined;
  }
}
