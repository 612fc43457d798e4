import type { Clock } from "./runtime.ts";

/** One limit for everything that somebody waits for in a row. */
export interface Deadline {
  /** How much of it is left; 0 once it is over. */
  leftMs(): number;
  /** Settles as `work` does, or rejects with the error of the deadline when the time is over. */
  within<T>(work: Promise<T>): Promise<T>;
}

/** A deadline that begins to run now; `tooLate` makes its error. */
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
