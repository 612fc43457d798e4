/** A source of pseudo-random numbers. Equal seeds produce equal sequences. */
export interface SeededRandom {
  /** Returns a whole number from 0 to `limit - 1`. */
  below(limit: number): number;
  /** Returns an item of a list that is not empty. */
  of<T>(items: readonly T[]): T;
}

/** Creates a source by the generator mulberry32. */
export function seededRandom(seed: number): SeededRandom {
  let state = seed >>> 0;
  const below = (limit: number) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return Math.floor(((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32 * limit);
  };
  // The cast is safe: the index is below the length.
  return { below, of: (items) => items[below(items.length)] as (typeof items)[number] };
}
