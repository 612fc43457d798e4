/** A map that holds at most `capacity` entries and forgets those not used lately. */
export interface BoundedMap<K, V> {
  get(key: K): V | undefined;
  set(key: K, value: V): void;
  readonly size: number;
}

/**
 * Makes a {@link BoundedMap} of two generations: entries in use move to the young one, and when that
 * is full the old one is dropped as a whole. A single Map that deletes its oldest key at every `set`
 * is slower: it steps over the slots of all deleted keys to find its first one, which cost 20 µs a
 * request once such a cache was full.
 */
export function boundedMap<K, V>(capacity: number): BoundedMap<K, V> {
  const generation = Math.max(1, Math.floor(capacity / 2));
  let young = new Map<K, V>();
  let old = new Map<K, V>();

  function remember(key: K, value: V): void {
    if (young.size >= generation && !young.has(key)) {
      old = young;
      young = new Map();
    }
    young.set(key, value);
  }

  return {
    get(key) {
      const fresh = young.get(key);
      if (fresh !== undefined) return fresh;
      const aged = old.get(key);
      if (aged !== undefined) remember(key, aged);
      return aged;
    },
    set: remember,
    get size() {
      let size = young.size;
      for (const key of old.keys()) if (!young.has(key)) size++;
      return size;
    },
  };
}
