import { type Backoff, waitBackoff } from "../runtime/backoff.ts";
import type { Runtime } from "../runtime/runtime.ts";
import { DatabaseError } from "./database_error.ts";
import type { Connection, Driver } from "./driver.ts";

const maxTries = 3;

/** At most 10 ms after the first try and 40 ms after the second. */
const backoff: Backoff = { firstMs: 10, factor: 4, maxMs: 40 };

/** What the waits between tries are drawn from. */
export type RetryRuntime = Pick<Runtime, "random">;

/**
 * Runs `work` in a transaction, again when the database gave way to other writers (serialisation
 * failure, deadlock): such work has changed nothing. So `work` may run up to three times.
 */
export function transact<T>(
  driver: Driver,
  runtime: RetryRuntime,
  work: (connection: Connection) => Promise<T>,
): Promise<T> {
  return retry(() => driver.transaction(work), runtime);
}

/**
 * Runs `work` on the driver itself, again as {@link transact} does: for work of a single statement,
 * which is a transaction of its own. Of two statements that write, the first would be done twice.
 *
 * @example
 * ```ts ignore
 * const { driver, runtime } = resource;
 * const row = await retryOnConflict(driver, runtime, (connection) => write(plan, connection));
 * ```
 */
export function retryOnConflict<T>(
  driver: Driver,
  runtime: RetryRuntime,
  work: (connection: Connection) => Promise<T>,
): Promise<T> {
  return retry(() => work(driver), runtime);
}

async function retry<T>(work: () => Promise<T>, runtime: RetryRuntime): Promise<T> {
  for (let tries = 1;; tries++) {
    try {
      return await work();
    } catch (error) {
      const isRetryable = error instanceof DatabaseError && error.kind === "retryable";
      if (!isRetryable || tries === maxTries) throw error;
    }
    await waitBackoff(tries, runtime, backoff);
  }
}
