import type { WorkAllowance } from "../../filter/filter_work.ts";
import type { Clock } from "../../runtime/runtime.ts";

/**
 * Meters the work of filters in memory, for all streams over one database together: a short burst,
 * which delays other requests by some tens of milliseconds at most, and then a share of the time.
 * The database evaluates the rest, over many changes at once.
 */
export class WorkMeter implements WorkAllowance {
  readonly #clock: Pick<Clock, "elapsedMs">;
  #left = burstSteps;
  #filledAt: number;

  /** Begins with a whole burst. */
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

/** Some tens of milliseconds at most: a step takes between a tenth of a nanosecond and three. */
export const burstSteps = 10_000_000;

/** About a tenth of the time of the process, three tenths at most. */
const stepsPerMs = 100_000;
