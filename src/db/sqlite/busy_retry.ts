import type { Clock } from "../../runtime/runtime.ts";
import { sleep } from "../../runtime/event_loop.ts";

/** How long to wait for locks of other processes, and how to tell them from other errors. */
export interface BusyRetry {
  /** What the waiting is measured by. */
  readonly clock: Clock;
  /** How long a write waits for its turn, and for other processes. */
  readonly waitLimitMs: number;
  /** Whether an error says that another connection holds a lock. */
  readonly isBusy: (error: unknown) => boolean;
}

/**
 * Tries again while another process holds the lock. The waiting is done here and not by SQLite,
 * whose busy timeout would stop the whole process.
 */
export async function retryWhileBusy<T>(busyRetry: BusyRetry, attempt: () => T): Promise<T> {
  const start = busyRetry.clock.elapsedMs();
  for (let delayMs = 1;; delayMs = nextDelayMs(delayMs)) {
    try {
      return attempt();
    } catch (error) {
      const waitedMs = busyRetry.clock.elapsedMs() - start;
      if (!busyRetry.isBusy(error) || waitedMs >= busyRetry.waitLimitMs) throw error;
    }
    await sleep(delayMs);
  }
}

/** Locks are mostly held for a few milliseconds; a lock that is held longer is not hammered at. */
export function nextDelayMs(delayMs: number): number {
  return Math.min(2 * delayMs, 16);
}
