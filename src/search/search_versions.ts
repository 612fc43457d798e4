import type { Clock } from "../runtime/runtime.ts";

/**
 * Creates the versions of index changes. Versions increase with time, and strictly within one
 * process. Versions are drawn before the row is read, so the greatest version of a document belongs
 * to the latest state. The last writer of the row draws its version after the commit, and any later
 * version precedes a later read. Between processes this depends on synchronized clocks. A sweep
 * with a later version repairs the resulting differences.
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
