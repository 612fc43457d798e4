import { type BoundedMap, boundedMap, type ByteBound } from "./bounded_map.ts";

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
