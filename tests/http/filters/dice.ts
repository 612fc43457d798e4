/** Chance that a seed repeats. */
export interface Dice {
  /** A whole number below `sides`. */
  (sides: number): number;
  /** Whether something of this probability happens. */
  chance(probability: number): boolean;
  pick<T>(items: readonly T[]): T;
}

/** By mulberry32. */
export function diceOf(seed: number): Dice {
  let state = Math.imul(seed, 0x9e3779b1) >>> 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const roll = (sides: number) => Math.floor(next() * sides);
  return Object.assign(roll, {
    chance: (probability: number) => next() < probability,
    pick<T>(items: readonly T[]): T {
      const item = items[roll(items.length)];
      if (item === undefined) throw new Error("nothing to pick from");
      return item;
    },
  });
}
