import { waitBackoff } from "../runtime/backoff.ts";
import type { Runtime } from "../runtime/runtime.ts";

/**
 * Opens a file of a key-value store, and tries again while another process creates it, because Deno
 * then does not wait for the lock. Rejects with the error of the last attempt after three seconds.
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

/** Returns true if an error means that another process holds the lock of the file. */
export function isLockedError(error: unknown): boolean {
  // Deno provides SQLite's error message, but no error code.
  return error instanceof Error && error.message.includes("database is locked");
}

const maxWaitMs = 3_000;
