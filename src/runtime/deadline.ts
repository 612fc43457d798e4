import type { Clock } from "./runtime.ts";

/** A deadline: one time limit that several consecutive waits share. */
export interface Deadline {
  /** Returns the remaining time in milliseconds, or 0 after the deadline. */
  leftMs(): number;
  /** Resolves or rejects like `work`. After the deadline, rejects with the error of `tooLate`. */
  within<T>(work: Promise<T>): Promise<T>;
}

/** Creates a deadline `limitMs` from now. `tooLate` creates the error for work that is too late. */
export function deadline(limitMs: number, clock: Clock, tooLate: () => Error): Deadline {
  const start = clock.elapsedMs();
  const leftMs = () => Math.max(0, start + limitMs - clock.elapsedMs());
  return {
    leftMs,
    within(work) {
      return new Promise((resolve, reject) => {
        const cancel = clock.after(leftMs(), () => reject(tooLate()));
        work.then((value) => {
          cancel();
          resolve(value);
        }, (error) => {
          cancel();
          reject(error);
        });
      });
    },
  };
}
