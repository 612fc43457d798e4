import { sleep } from "./event_loop.ts";
import { jitteredBetween } from "./jitter.ts";
import type { Runtime } from "./runtime.ts";

/** The growth of a backoff's maximum wait: first `firstMs`, then `factor` times as long. */
export interface Backoff {
  readonly firstMs: number;
  readonly factor: number;
  readonly maxMs: number;
}

/**
 * Waits with backoff before another try, after `failedTries` of them. The time is random, between
 * nothing and a limit that grows with each try ("full jitter"). Therefore tries that collided do
 * not collide again.
 */
export function waitBackoff(
  failedTries: number,
  runtime: Pick<Runtime, "random">,
  { firstMs, factor, maxMs }: Backoff = shortBackoff,
): Promise<void> {
  const limitMs = Math.min(maxMs, firstMs * factor ** (failedTries - 1));
  return sleep(jitteredBetween(runtime, 0, limitMs));
}

/** The backoff for operations of about a millisecond, such as commits of a key-value store. */
const shortBackoff: Backoff = { firstMs: 1, factor: 2, maxMs: 64 };
