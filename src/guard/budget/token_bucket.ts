import type { BudgetClassOptions } from "./budget_options.ts";
import type { RateLimitOptions } from "../resource_protection_options.ts";

/** A token bucket: the remaining tokens of one caller at a time. */
export interface Bucket {
  readonly tokens: number;
  /** The time in milliseconds since 1970. For a window, the start of the window. */
  readonly at: number;
}

/** The policy of a token bucket: the capacity for each caller, and its refill. */
export interface BucketPolicy {
  /** Name of the policy in headers. */
  readonly name: string;
  readonly capacity: number;
  /** The value of `RateLimit-Policy`: `"budget";q=100;w=60`. */
  readonly header: string;
  /** Returns the current bucket. It never exceeds the capacity, even if the clock jumps. */
  refill(bucket: Bucket, now: number): Bucket;
  /** Returns the time after `now` until the amount is available, for a freshly refilled bucket. */
  waitMs(bucket: Bucket, amount: number, now: number): number;
  /** Returns true if tokens taken from one bucket may be returned to the other. */
  isSameSpan(left: Bucket, right: Bucket): boolean;
}

/** Returns the token bucket of a caller that has taken nothing yet. */
export function fullBucket({ capacity }: BucketPolicy, now: number): Bucket {
  return { tokens: capacity, at: now };
}

/**
 * The rounding tolerance of token buckets, because sums of fractions are inexact. A token must be
 * available after the announced wait.
 */
export const roundingTolerance = 1e-6;

/** Returns the policy of a token bucket that refills continuously. */
export function tokenBucket(
  name: string,
  { capacity, refillPerMinute }: BudgetClassOptions,
): BucketPolicy {
  const perMs = refillPerMinute / 60_000;
  return {
    name,
    capacity,
    header: policyOf(name, capacity, perMs === 0 ? Infinity : capacity / perMs),
    refill({ tokens, at }, now) {
      if (now < at) return { tokens: Math.min(capacity, tokens), at: afterClockJump(at, now) };
      return { tokens: Math.min(capacity, tokens + (now - at) * perMs), at: now };
    },
    waitMs({ tokens, at }, amount, now) {
      if (tokens >= amount) return 0;
      return perMs === 0 ? Infinity : Math.max(0, at - now) + (amount - tokens) / perMs;
    },
    isSameSpan: () => true,
  };
}

/** Returns the policy of a fixed window, which starts with its first request. */
export function fixedWindow(
  name: string,
  { windowMs, maxRequests }: RateLimitOptions,
): BucketPolicy {
  return {
    name,
    capacity: maxRequests,
    header: policyOf(name, maxRequests, windowMs),
    refill({ tokens, at }, now) {
      if (now >= at + windowMs) return { tokens: maxRequests, at: now };
      return { tokens: Math.min(maxRequests, tokens), at: now < at ? afterClockJump(at, now) : at };
    },
    waitMs: ({ tokens, at }, amount, now) => tokens >= amount ? 0 : at + windowMs - now,
    isSameSpan: (left, right) => left.at === right.at,
  };
}

/** Returns a header value. `w` is the time in which an empty bucket refills. */
function policyOf(name: string, capacity: number, spanMs: number): string {
  const window = spanMs === Infinity ? "" : `;w=${Math.max(1, Math.ceil(spanMs / 1_000))}`;
  return `"${name}";q=${Math.floor(capacity)}${window}`;
}

/**
 * Returns the time of a bucket after a clock jump. The clocks of processes differ a little. If each
 * process set a bucket back to its own time, alternating processes would refill the bucket.
 * However, a clock that was far ahead and was corrected must not stop the refill.
 */
function afterClockJump(at: number, now: number): number {
  return at - now <= skewMs ? at : now;
}

const skewMs = 60_000;
