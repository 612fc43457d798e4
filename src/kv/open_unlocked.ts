import { waitBackoff } from "../runtime/backoff.ts";
import type { Runtime } from "../runtime/runtime.ts";

/**
 * Opens the file of a key-value store. While another process creates the file, Deno does not wait
 * for its lock, so this tries again. Rejects with the last error after three seconds.
 */
export async function openWhenUnlocked<T>(
  open: () => Promise<T>,
  runtime: Pick<Runtime, "clock" | "random">,
): Promise<T> {
  const endsAt = runtime.clock.elapsedMs() + maxWaitMs;
  for (let tries = 1;; tries++) {
    try {
      return await open();
    } catch (error) {
      if (!isLockedError(error) || runtime.clock.elapsedMs() >= endsAt) throw error;
      await waitBackoff(tries, runtime);
    }
  }
}

/** Returns true if the error says that another process has locked the file. */
export function isLockedError(error: unknown): boolean {
  // Deno passes on the message of SQLite without its error code.
  return error instanceof Error && error.message.includes("database is locked");
}

const maxWaitMs = 3_000;
