import type { Clock } from "../runtime/runtime.ts";

/**
 * Creates the versions of index changes. They increase with time, and strictly within a process.
 * Each version is created before its row is read. The last writer of a row creates its version
 * after its commit, and any greater version is created even later, so its read returns the latest
 * row. Between processes, this depends on synchronized clocks. A sweep repairs errors.
 */
export class SearchVersions {
  readonly #clock: Clock;
  #last = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Returns the next version: microseconds since 1970, a number below 2^63. */
  next(): number {
    this.#last = Math.max(this.#last + 1, Math.floor(this.#clock.now() * 1_000));
    return this.#last;
  }

  /** Makes the next versions greater than this one, which another process may have created. */
  raise(version: number): void {
    this.#last = Math.max(this.#last, version);
  }
}
