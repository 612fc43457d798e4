import type { Clock } from "../runtime/runtime.ts";

/**
 * Creates the versions of index changes. Versions increase with time, and strictly within one
 * process. A version is drawn before its row is read. The last writer of a row draws a version
 * after the commit. Any greater version is drawn even later, so its read returns the latest row.
 * Between processes this depends on synchronized clocks. A sweep repairs the differences.
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

  /** Makes later versions greater than this one, which another process may have drawn. */
  raise(version: number): void {
    this.#last = Math.max(this.#last, version);
  }
}
