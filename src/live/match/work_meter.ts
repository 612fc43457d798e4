import type { WorkAllowance } from "../../filter/filter_work.ts";
import type { Clock } from "../../runtime/runtime.ts";

/**
 * Measures the work of filters in memory for all streams over one database. First, a short burst is
 * allowed, which delays other requests by some tens of milliseconds. After the burst, a share of
 * the time is allowed. The database evaluates the rest, for many changes together.
 */
export class WorkMeter implements WorkAllowance {
  readonly #clock: Pick<Clock, "elapsedMs">;
  #left = burstSteps;
  #filledAt: number;

  /** Allows a full burst immediately after the creation. */
  constructor(clock: Pick<Clock, "elapsedMs">) {
    this.#clock = clock;
    this.#filledAt = clock.elapsedMs();
  }

  take(steps: number): boolean {
    if (steps > this.#left) this.#refill();
    if (steps > this.#left) return false;
    this.#left -= steps;
    return true;
  }

  #refill(): void {
    const now = this.#clock.elapsedMs();
    this.#left = Math.min(burstSteps, this.#left + (now - this.#filledAt) * stepsPerMs);
    this.#filledAt = now;
  }
}

/** The steps of a burst. A step takes 0.1 to 3 ns, so a burst takes at most 30 ms. */
export const burstSteps = 10_000_000;

/** The steps per millisecond after a burst: about a tenth of the time, at most three tenths. */
const stepsPerMs = 100_000;
