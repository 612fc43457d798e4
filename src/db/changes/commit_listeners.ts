/** The listeners that a driver calls after its commits. */
export interface CommitListeners {
  /** Adds one; the function that it returns removes it. */
  add(listener: () => void): () => void;
  /** Calls all of them. */
  notify(): void;
}

/** Creates the set of commit listeners of one driver. */
export function commitListeners(): CommitListeners {
  const listeners = new Set<() => void>();
  return {
    add(listener) {
      // A function of its own, so that one listener can be added twice.
      const entry = () => listener();
      listeners.add(entry);
      return () => void listeners.delete(entry);
    },
    notify() {
      for (const listener of listeners) listener();
    },
  };
}
