import { DatabaseError } from "./database_error.ts";
import type { Connection, Driver } from "./driver.ts";

const tries = 3;

/**
 * Runs `work` in a transaction, again when the database gave way to other writers (serialisation
 * failure, deadlock): such work has changed nothing.
 */
export async function transact<T>(
  driver: Driver,
  work: (connection: Connection) => Promise<T>,
): Promise<T> {
  for (let attempt = 1;; attempt++) {
    try {
      return await driver.transaction(work);
    } catch (error) {
      const again = error instanceof DatabaseError && error.kind === "retryable";
      if (!again || attempt === tries) throw error;
    }
  }
}
