import type { Clock } from "../runtime/runtime.ts";
import { DatabaseError } from "./database_error.ts";

/** One limit for everything that somebody waits for in a row. */
export interface Deadline {
  /** Settles as `work` does, or rejects as `unavailable` when the time is over. */
  within<T>(work: Promise<T>): Promise<T>;
}

/** A deadline that begins to run now. */
export function deadline(limitMs: number, clock: Clock): Deadline {
  const start = clock.elapsedMs();
  return {
    within(work) {
      return new Promise((resolve, reject) => {
        const leftMs = Math.max(0, start + limitMs - clock.elapsedMs());
        const cancel = clock.after(leftMs, () => reject(tooLate(limitMs)));
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

function tooLate(limitMs: number): DatabaseError {
  const cause = new Error(`Cannot use the database: it gave no connection within ${limitMs} ms`);
  return new DatabaseError("unavailable", cause);
}
