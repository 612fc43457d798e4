import type { WorkAllowance } from "../../filter/filter_work.ts";
import type { Clock } from "../../runtime/runtime.ts";

/**
 * Measures the work of filters in memory for all streams over one database. A short burst is
 * allowed, which delays other requests by some tens of milliseconds, and then a share of the time.
 * The database evaluates the rest, for many changes together.
 */
export class WorkMeter implements WorkAllowance {
  readonly #clock: Pick<Clock, "elapsedMs">;
  #left = burstSteps;
  #filledAt: number;

  /** Starts with a full burst. */
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

/** Steps of a burst: tens of milliseconds at most, since a step takes 0.1 to 3 nanoseconds. */
export const burstSteps = 10_000_000;

/** About a tenth of the time of the process, at most three tenths. */
const stepsPerMs = 100_000;
