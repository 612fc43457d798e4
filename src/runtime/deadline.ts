import type { Clock } from "./runtime.ts";

/** A deadline: one time limit for several waits in a row. */
export interface Deadline {
  /** The time that is left; 0 once it is over. */
  leftMs(): number;
  /** Resolves or rejects as `work` does, or rejects with the deadline's error once time is over. */
  within<T>(work: Promise<T>): Promise<T>;
}

/** Makes a deadline that starts now; `tooLate` makes its error. */
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
