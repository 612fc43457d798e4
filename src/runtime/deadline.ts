import type { Clock } from "./runtime.ts";

/** A deadline: one time limit for several consecutive waits. */
export interface Deadline {
  /** Returns the remaining time in milliseconds; 0 after the deadline. */
  leftMs(): number;
  /**
   * Resolves or rejects as `work` does, or rejects with the deadline's error once the time is over.
   */
  within<T>(work: Promise<T>): Promise<T>;
}

/** Creates a deadline that starts now; `tooLate` creates its error. */
export function deadline(limitMs: number, clock: Clock, tooLate: () => Error): Deadline {
  const start = clock.elapsedMs();
  const leftMs = () => Math.max(0, start + limitMs - clock.elapsedMs());
  return {
    leftMs,
    within(work) {
      return new Promise((resolve, reject) => {
        const cancel = clock.after(leftMs(), () => reject(tooLate()));
        work.then(
          (value) => {
            cancel();
            resolve(value);
          },
          (error) => {
            cancel();
            reject(error);
          },
        );
      });
    },
  };
}
