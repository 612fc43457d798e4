/** A map that holds a limited number of entries and forgets those not used lately. */
export interface BoundedMap<K, V> {
  get(key: K): V | undefined;
  set(key: K, value: V): void;
  readonly size: number;
  /** What it holds. To read it is no use of an entry. */
  entries(): Iterable<readonly [K, V]>;
}

/** The bound of a map whose entries are of any size, because a client chooses their strings. */
export interface ByteBound<K, V> {
  /** The most bytes of all entries together. An entry of more than half of them is not kept. */
  readonly maxBytes: number;
  /** About how many bytes an entry holds: the same each time for the same entry. */
  bytesOf(key: K, value: V): number;
}

/**
 * Makes a {@link BoundedMap} of two generations: entries in use move to the young one, and when that
 * is full the old one is dropped as a whole. A single Map that deletes its oldest key at every `set`
 * is slower: it steps over the slots of all deleted keys to find its first one, which cost 20 µs a
 * request once such a cache was full. It holds at most `capacity` entries, and no more bytes than
 * the bound says, where it has one.
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
    get size() {
      let size = young.size;
      for (const key of old.keys()) if (!young.has(key)) size++;
      return size;
    },
    *entries() {
      yield* young;
      for (const entry of old) if (!young.has(entry[0])) yield entry;
    },
  };
}

/** For entries of one size, whose number is bound enough. */
const anySize: ByteBound<unknown, unknown> = { maxBytes: Infinity, bytesOf: () => 0 };
