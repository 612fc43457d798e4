import type { Random } from "./runtime.ts";
import { pause } from "./system_runtime.ts";

/**
 * Waits before another try, by chance between nothing and a span that doubles each time: whoever
 * was in the way of each other will not meet again ("full jitter").
 */
export function waitBackoff(tries: number, random: Random): Promise<void> {
  const spanMs = Math.min(maxMs, 2 ** tries);
  const [byte = 0] = random.bytes(1);
  return pause(spanMs * byte / 256);
}

const maxMs = 64;
