import { randomOf } from "../billing/ledger_model.ts";

/** Draws from a seed, so that a failing run can be repeated. */
export class Dice {
  readonly #next: () => number;

  constructor(seed: number) {
    this.#next = randomOf(seed);
  }

  /** A whole number below `sides`. */
  below(sides: number): number {
    return Math.floor(this.#next() * sides);
  }

  /** True once in `sides` throws. */
  once(sides: number): boolean {
    return this.below(sides) === 0;
  }

  of<T>(list: readonly T[]): T {
    const found = list[this.below(list.length)];
    if (list.length === 0) throw new Error("nothing to draw from");
    // The index is within the list.
    return found as T;
  }

  /** One of a list, or null where it is empty. */
  maybeOf<T>(list: readonly T[]): T | null {
    return list.length === 0 ? null : this.of(list);
  }

  some<T>(list: readonly T[], most: number): readonly T[] {
    const left = [...list];
    const drawn: T[] = [];
    for (let count = Math.min(this.below(most + 1), left.length); count > 0; count--) {
      drawn.push(...left.splice(this.below(left.length), 1));
    }
    return drawn;
  }
}
