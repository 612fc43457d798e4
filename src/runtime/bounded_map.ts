/** A map that forgets what was not used for longest once it holds `capacity` entries. */
export interface BoundedMap<K, V> {
  get(key: K): V | undefined;
  set(key: K, value: V): void;
  readonly size: number;
}

/** Makes a {@link BoundedMap}; `forget` is told of every entry that had to go. */
export function boundedMap<K, V>(
  capacity: number,
  forget?: (value: V) => void,
): BoundedMap<K, V> {
  // A Map keeps the order of insertion: the first key is the one unused for longest.
  const entries = new Map<K, V>();
  return {
    get(key) {
      const value = entries.get(key);
      if (value === undefined) return undefined;
      entries.delete(key);
      entries.set(key, value);
      return value;
    },
    set(key, value) {
      entries.delete(key);
      entries.set(key, value);
      if (entries.size <= capacity) return;
      for (const [oldest, old] of entries) {
        entries.delete(oldest);
        forget?.(old);
        return;
      }
    },
    get size() {
      return entries.size;
    },
  };
}
