import type { LibraryWork } from "./library_work.ts";

/** What the instrumented modules count. */
export interface BranchCounters {
  /** Sets all counters to zero. */
  reset(): void;
  /** Returns the branches that ran since the last reset, plus the work of the language. */
  steps(): number;
  /**
   * Returns true if the last execution reached a branch for the first time, or ran a branch more
   * often by an order of magnitude, and remembers both.
   */
  isNew(): boolean;
  /** Returns the numbers of the branches of a range that any execution has reached. */
  reached(from: number, count: number): readonly number[];
  /** Returns the numbers of the branches that the last execution reached. */
  current(): readonly number[];
}

/** Reads the counters of `count` branches from `globalThis`. */
export function openBranchCounters(
  name: string,
  count: number,
  library: LibraryWork,
): BranchCounters {
  const holder = globalThis as unknown as Record<string, Uint32Array>;
  // The cast above is needed: the instrumented modules share this array by a global variable.
  const counters = (holder[name] ??= new Uint32Array(1 << 17)).subarray(0, count);
  const seen = new Uint16Array(count);
  return {
    reset() {
      counters.fill(0);
      library.take();
    },
    steps: () => library.take() + counters.reduce((sum, one) => sum + one, 0),
    isNew() {
      let isNew = false;
      for (let at = 0; at < count; at++) {
        const times = counters[at] ?? 0;
        if (times === 0) continue;
        const bit = 1 << Math.min(15, magnitude(times));
        const known = seen[at] ?? 0;
        if ((known & bit) !== 0) continue;
        seen[at] = known | bit;
        isNew = true;
      }
      return isNew;
    },
    reached: (from, length) =>
      Array.from({ length }, (_, index) => from + index).filter((at) => seen[at] !== 0),
    current: () => [...counters.keys()].filter((at) => counters[at] !== 0),
  };
}

/** Returns a class of counts: 1, 2, 3, 4–7, 8–15, 16–31, 32–127, more. */
function magnitude(times: number): number {
  if (times < 4) return times - 1;
  return times < 32 ? Math.floor(Math.log2(times)) + 1 : times < 128 ? 6 : 7;
}
