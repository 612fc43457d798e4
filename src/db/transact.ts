import { pause, systemRuntime } from "../runtime/system_runtime.ts";
import { DatabaseError } from "./database_error.ts";
import type { Connection, Driver } from "./driver.ts";

const tries = 3;

/** Waits after the n-th try, counted from 1, and before the next. */
export type Pause = (attempt: number) => Promise<void>;

/**
 * Runs `work` in a transaction, again when the database gave way to other writers (serialisation
 * failure, deadlock): such work has changed nothing. So `work` may run up to three times.
 */
export function transact<T>(
  driver: Driver,
  work: (connection: Connection) => Promise<T>,
  pauseAfter: Pause = jittered,
): Promise<T> {
  return patiently(() => driver.transaction(work), pauseAfter);
}

/**
 * Runs `work` on the driver itself, again as {@link transact} does: for work of a single statement,
 * which is a transaction of its own. Of two statements that write, the first would be done twice.
 *
 * @example
 * ```ts ignore
 * const row = await retrying(resource.driver, (connection) => write(plan, connection));
 * ```
 */
export function retryOnConflict<T>(
  driver: Driver,
  work: (connection: Connection) => Promise<T>,
  pauseAfter: Pause = jittered,
): Promise<T> {
  return patiently(() => work(driver), pauseAfter);
}

async function patiently<T>(work: () => Promise<T>, pauseAfter: Pause): Promise<T> {
  for (let attempt = 1;; attempt++) {
    try {
      return await work();
    } catch (error) {
      const again = error instanceof DatabaseError && error.kind === "retryable";
      if (!again || attempt === tries) throw error;
    }
    await pauseAfter(attempt);
  }
}

/** Up to 10 ms after the first try, 40 ms after the second: those who clashed part by chance. */
function jittered(attempt: number): Promise<void> {
  const [chance = 0] = systemRuntime(() => {}).random.bytes(1);
  return pause(chance / 255 * 10 * 4 ** (attempt - 1));
}
