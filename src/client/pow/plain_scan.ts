import { compress, scheduleWords } from "../../protocol/sha256.ts";
import { type Scan, varyingWordAt, zeroBitsMask } from "./nonce_range.ts";

export function createPlainScan(): Scan {
  const state = new Int32Array(8);
  const schedule = new Int32Array(scheduleWords);
  return ({ midstate, block, at }, { difficulty, from, to }) => {
    const mask = zeroBitsMask(difficulty);
    schedule.set(block);
    for (let index = from; index < to; index++) {
      schedule[at] = varyingWordAt(index);
      for (let i = 0; i < 8; i++) state[i] = midstate[i]!;
      compress(state, schedule);
      if ((state[0]! & mask) === 0) return index;
    }
    return -1;
  };
}
