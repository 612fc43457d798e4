/** A map of limited size. It deletes entries that were not used recently. */
export interface BoundedMap<K, V> {
  get(key: K): V | undefined;
  set(key: K, value: V): void;
  /** Returns the entries. The iteration does not count as use of an entry. */
  entries(): Iterable<readonly [K, V]>;
}

/** A limit in bytes for a map in which clients determine the size of some entries. */
export interface ByteBound<K, V> {
  /** The maximum bytes of all entries together. An entry larger than half of it is not stored. */
  readonly maxBytes: number;
  /** Returns the approximate size of an entry in bytes. Equal entries have equal sizes. */
  bytesOf(key: K, value: V): number;
}

/**
 * Creates a {@link BoundedMap} that consists of a young and an old Map. A used entry moves to the
 * young Map. A full young Map replaces the old Map. Deleting the oldest key of a single Map would
 * take 20 µs, because V8 steps over the slots of all deleted keys.
 */
export function boundedMap<K, V>(
  capacity: number,
  { maxBytes, bytesOf }: ByteBound<K, V> = anySize,
): BoundedMap<K, V> {
  const generation = Math.max(1, Math.floor(capacity / 2));
  const generationBytes = maxBytes / 2;
  let young = new Map<K, V>();
  let youngBytes = 0;
  let old = new Map<K, V>();

  function remember(key: K, value: V): void {
    const bytes = bytesOf(key, value);
    const replaced = young.get(key);
    if (bytes > generationBytes) return forget(key, replaced);
    if (replaced !== undefined) youngBytes -= bytesOf(key, replaced);
    const isFull = replaced === undefined && young.size >= generation;
    if (isFull || youngBytes + bytes > generationBytes) {
      old = young;
      young = new Map();
      youngBytes = 0;
    }
    young.set(key, value);
    youngBytes += bytes;
  }

  function forget(key: K, replaced: V | undefined): void {
    if (replaced !== undefined) youngBytes -= bytesOf(key, replaced);
    young.delete(key);
    old.delete(key);
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
    *entries() {
      yield* young;
      for (const entry of old) if (!young.has(entry[0])) yield entry;
    },
  };
}

/** No byte limit. If all entries have similar sizes, `capacity` limits the bytes, too. */
const anySize: ByteBound<unknown, unknown> = { maxBytes: Infinity, bytesOf: () => 0 };
