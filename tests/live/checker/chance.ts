/** Chance that comes out the same for the same seed: whatever it decided can be run again. */
export class Chance {
  #state: number;

  /** Any number is a seed. */
  constructor(seed: number) {
    this.#state = seed | 0;
  }

  /** A whole number from 0 up to, not including, `end`. */
  below(end: number): number {
    // Mulberry32: small, and good enough to choose by.
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let bits = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    bits ^= bits + Math.imul(bits ^ (bits >>> 7), 61 | bits);
    return ((bits ^ (bits >>> 14)) >>> 0) % end;
  }

  /** True once in so many times. */
  once(times: number): boolean {
    return this.below(times) === 0;
  }

  /** One of some. */
  pick<T>(some: readonly T[]): T {
    const one = some[this.below(some.length)];
    if (one === undefined) throw new Error("There is nothing to pick from");
    return one;
  }

  /** Some in any order, so many. */
  sample<T>(some: readonly T[], count: number): T[] {
    const left = [...some];
    const taken: T[] = [];
    while (taken.length < count && left.length > 0) {
      taken.push(...left.splice(this.below(left.length), 1));
    }
    return taken;
  }

  /** A choice by weights: `{ read: 3, write: 1 }` reads three times as often. */
  weighted<K extends string>(weights: Readonly<Record<K, number>>): K {
    // The keys of a record of these are these.
    const entries = Object.entries(weights) as [K, number][];
    let left = this.below(entries.reduce((sum, [, weight]) => sum + weight, 0));
    for (const [key, weight] of entries) {
      left -= weight;
      if (left < 0) return key;
    }
    throw new Error("Weights are numbers over 0");
  }
}
