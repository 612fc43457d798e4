import { compress, scheduleWords } from "../protocol/sha256.ts";
import { type NonceRange, varyingWord } from "./nonce_range.ts";

/**
 * Searches a part of a range: the index of a nonce whose hash begins with the required zero bits, at
 * most 32, or -1.
 */
export type Scan = (range: NonceRange, part: RangePart) => number;

/** The part to search, and the difficulty. */
export interface RangePart {
  readonly difficulty: number;
  readonly from: number;
  /** The index after the part; a multiple of four, like `from`. */
  readonly to: number;
}

/** The bits of the first word of the digest that must be zero. */
export function zeroBits(difficulty: number): number {
  return difficulty === 0 ? 0 : -1 << (32 - difficulty);
}

/** Makes a {@link Scan} in plain TypeScript, for clients without WebAssembly vectors. */
export function createPlainScan(): Scan {
  const state = new Int32Array(8);
  const schedule = new Int32Array(scheduleWords);
  return ({ midstate, block, at }, { difficulty, from, to }) => {
    const mask = zeroBits(difficulty);
    schedule.set(block);
    for (let index = from; index < to; index++) {
      schedule[at] = varyingWord(index);
      for (let i = 0; i < 8; i++) state[i] = midstate.state[i]!;
      compress(state, schedule);
      if ((state[0]! & mask) === 0) return index;
    }
    return -1;
  };
}
