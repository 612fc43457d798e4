import type { Clock } from "../runtime/runtime.ts";

/**
 * Draws the versions of index changes, which grow with time, in one process strictly. Drawn before
 * the row is read, the greatest version of a document belongs to a state that no write is newer
 * than: the last writer of the row has drawn its version after the commit, and the one that drew a later
 * one has read the row after that. Between processes this holds as far as their clocks agree; what
 * a sweep finds is repaired with a version of its own.
 */
export class SearchVersions {
  readonly #clock: Clock;
  #last = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The next version: microseconds since 1970, which fit a number and 63 bits. */
  next(): number {
    this.#last = Math.max(this.#last + 1, Math.floor(this.#clock.now() * 1_000));
    return this.#last;
  }

  /** From now on versions are greater than this one, which was drawn elsewhere. */
  raise(version: number): void {
    this.#last = Math.max(this.#last, version);
  }
}
