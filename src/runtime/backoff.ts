import { randomDelayBetween, type Runtime, sleep } from "./runtime.ts";

/** The bound of random waits: `firstMs`, multiplied by `factor` after each try, up to `maxMs`. */
export interface Backoff {
  readonly firstMs: number;
  readonly factor: number;
  readonly maxMs: number;
}

/** The wait is random (full jitter), so that processes that collided rarely collide again. */
export function waitBackoff(
  failedTries: number,
  runtime: Pick<Runtime, "random">,
  { firstMs, factor, maxMs }: Backoff = shortBackoff,
): Promise<void> {
  const limitMs = Math.min(maxMs, firstMs * factor ** (failedTries - 1));
  return sleep(randomDelayBetween(runtime, 0, limitMs));
}

/** The backoff for operations of about one millisecond, such as commits of a key-value store. */
const shortBackoff: Backoff = { firstMs: 1, factor: 2, maxMs: 64 };
