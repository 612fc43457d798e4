import { pause, systemRuntime } from "../runtime/system_runtime.ts";
import { DatabaseError } from "./database_error.ts";
import type { Connection, Driver } from "./driver.ts";

/** Waits after the n-th try, counted from 1, and before the next. */
export type Pause = (attempt: number) => Promise<void>;

/** How {@link transact} runs its work. */
export interface TransactOptions {
  /**
   * The work is one statement, which is a transaction by itself: it runs on the driver. With two
   * statements that write, another try would repeat the first.
   */
  readonly isLoneStatement?: boolean;
  /** Up to 10 ms after the first try and 40 ms after the second, unless set. */
  readonly pauseAfter?: Pause;
}

const maxTries = 3;

/**
 * Runs `work` in a transaction, again when the database rolled it back for the sake of other
 * writers (serialisation failure, deadlock). So `work` may run up to three times.
 *
 * @example
 * ```ts ignore
 * const rows = await transact(driver, (connection) => connection.query(insert), {
 *   isLoneStatement: true,
 * });
 * ```
 */
export async function transact<T>(
  driver: Driver,
  work: (connection: Connection) => Promise<T>,
  { isLoneStatement = false, pauseAfter = jitteredPause }: TransactOptions = {},
): Promise<T> {
  for (let attempt = 1;; attempt++) {
    try {
      return await (isLoneStatement ? work(driver) : driver.transaction(work));
    } catch (error) {
      const isRetryable = error instanceof DatabaseError && error.kind === "retryable";
      if (!isRetryable || attempt === maxTries) throw error;
    }
    await pauseAfter(attempt);
  }
}

/** The writers that clashed pause for different times, so that they do not clash again. */
function jitteredPause(attempt: number): Promise<void> {
  const [chance = 0] = systemRuntime(() => {}).random.bytes(1);
  return pause(chance / 255 * 10 * 4 ** (attempt - 1));
}
