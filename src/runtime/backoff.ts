import { sleep } from "./event_loop.ts";
import { jitteredBetween } from "./jitter.ts";
import type { Runtime } from "./runtime.ts";

/**
 * How the longest wait of a backoff grows: `firstMs` after the first try, then `factor` times as
 * long.
 */
export interface Backoff {
  readonly firstMs: number;
  readonly factor: number;
  readonly maxMs: number;
}

/**
 * Waits with backoff before another try, after `failedTries` of them, a random time between nothing
 * and a limit that grows with each: those that collided do not collide again ("full jitter").
 */
export function waitBackoff(
  failedTries: number,
  runtime: Pick<Runtime, "random">,
  { firstMs, factor, maxMs }: Backoff = shortBackoff,
): Promise<void> {
  const limitMs = Math.min(maxMs, firstMs * factor ** (failedTries - 1));
  return sleep(jitteredBetween(runtime, 0, limitMs));
}

/** For operations of about a millisecond, such as commits of a key-value store. */
const shortBackoff: Backoff = { firstMs: 1, factor: 2, maxMs: 64 };
