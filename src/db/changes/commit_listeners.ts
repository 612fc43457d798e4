/** Those who want to know of commits. */
export interface CommitListeners {
  /** Adds one; the answer takes it away. */
  add(listener: () => void): () => void;
  /** Tells all of them, which costs nothing when there are none. */
  notify(): void;
}

/** The listeners of one driver. */
export function commitListeners(): CommitListeners {
  const listeners = new Set<() => void>();
  return {
    add(listener) {
      // Of its own, so that one function can be added twice.
      const own = () => listener();
      listeners.add(own);
      return () => void listeners.delete(own);
    },
    notify() {
      for (const listener of listeners) listener();
    },
  };
}
