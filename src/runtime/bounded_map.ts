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

/**
 * How many hashes of strings that came once are kept: a string that comes again after more others would
 * be forgotten before it comes a third time.
 */
const places = 256;
/** So many characters of a longer text are hashed. */
const hashedCharacters = 128;

/**
 * A {@link BoundedMap} of what was made from strings, which keeps nothing of a string before it comes a
 * second time: where each request has a new one, V8 would copy all that is kept for a while from
 * collection to collection.
 */
export class TextMemo<Value> {
  readonly #known: BoundedMap<string, Value>;
  readonly #hashes = new Int32Array(places);

  /** Empty. */
  constructor(capacity: number, bound: ByteBound<string, Value>) {
    this.#known = boundedMap(capacity, bound);
  }

  /** What was kept of a string. */
  get(text: string): Value | undefined {
    return this.#known.get(text);
  }

  /** Returns true if it is worth to keep what was made from a string: it has come before. */
  comesAgain(text: string): boolean {
    const hash = hashOf(text);
    const place = hash & (places - 1);
    if (this.#hashes[place] === hash) return true;
    this.#hashes[place] = hash;
    return false;
  }

  /** Keeps what was made from a string. */
  keep(text: string, value: Value): void {
    this.#known.set(text, value);
  }
}

/** FNV-1a over UTF-16 units, those of a long string at equal distances. */
function hashOf(text: string): number {
  const { length } = text;
  const step = Math.ceil(length / hashedCharacters);
  let hash = 0x811c9dc5 ^ length;
  for (let at = 0; at < length; at += step) {
    hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  }
  return hash ^ (hash >>> 15);
}
