import { sleep } from "../../runtime/event_loop.ts";
import type { Clock } from "../../runtime/runtime.ts";

/**
 * How to try again while a SQLite file is busy: how long to wait for locks of other processes, and
 * which errors mean that one is held.
 */
export interface BusyRetry {
  /** Measures the wait. */
  readonly clock: Clock;
  /** How long a write waits for its turn, and for other processes. */
  readonly waitLimitMs: number;
  /** Returns true if an error says that another connection holds a lock. */
  readonly isBusy: (error: unknown) => boolean;
  /** Called after each attempt that has met a lock, and waited for before the next one. */
  readonly onBusy?: () => Promise<void>;
}

/**
 * Tries again while a SQLite file is busy, because another process holds the lock. It waits here
 * and not in SQLite, whose busy timeout would block the whole process.
 */
export async function retryWhileBusy<T>(busyRetry: BusyRetry, attempt: () => T): Promise<T> {
  const start = busyRetry.clock.elapsedMs();
  for (let delayMs = 1;; delayMs = nextDelayMs(delayMs)) {
    try {
      return attempt();
    } catch (error) {
      const waitedMs = busyRetry.clock.elapsedMs() - start;
      if (!busyRetry.isBusy(error) || waitedMs >= busyRetry.waitLimitMs) throw error;
      await busyRetry.onBusy?.();
    }
    await sleep(delayMs);
  }
}

/** Most locks are held for a few milliseconds; a lock that is held longer is tried less often. */
function nextDelayMs(delayMs: number): number {
  return Math.min(2 * delayMs, 16);
}
