import type { BudgetClassOptions } from "./budget_options.ts";
import type { RateLimitOptions } from "../resource_protection_options.ts";

/** A token bucket: how many tokens one caller has at a time. */
export interface Bucket {
  readonly tokens: number;
  /** Time of the token count in ms since 1970. For a fixed window, the start of the window. */
  readonly at: number;
}

/** The capacity of each caller's token bucket, and how it refills. The functions are pure. */
export interface BucketPolicy {
  /** Name of the policy in the rate-limit headers. */
  readonly name: string;
  readonly capacity: number;
  /** Value of the `RateLimit-Policy` header: `"budget";q=100;w=60`. */
  readonly header: string;
  /** Returns the bucket at a later time. It never exceeds the capacity, even if the clock jumps. */
  refill(bucket: Bucket, now: number): Bucket;
  /** Returns the milliseconds until the bucket contains this amount. Call `refill` first. */
  waitMs(bucket: Bucket, amount: number, now: number): number;
  /** Returns true if both buckets are in one window, or if the policy has no windows. */
  isSameSpan(left: Bucket, right: Bucket): boolean;
}

/** Returns the full bucket of a caller that has taken nothing yet. */
export function fullBucket({ capacity }: BucketPolicy, now: number): Bucket {
  return { tokens: capacity, at: now };
}

/** The tolerance for rounding errors, in tokens, so that a token is available after the wait. */
export const roundingTolerance = 1e-6;

/** Returns the policy of a bucket that refills continuously. */
export function tokenBucketPolicy(
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

/** Returns the policy of a bucket that refills after each window, which begins with a request. */
export function fixedWindowPolicy(
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

/** Returns the `RateLimit-Policy` value. `w` is the time to refill an empty bucket, in seconds. */
function policyOf(name: string, capacity: number, spanMs: number): string {
  const window = spanMs === Infinity ? "" : `;w=${Math.max(1, Math.ceil(spanMs / 1_000))}`;
  return `"${name}";q=${Math.floor(capacity)}${window}`;
}

/**
 * Returns a bucket's time after a clock jump. A small jump is ignored, because clocks of processes
 * differ, and alternating processes would otherwise refill the bucket. After a large jump back, the
 * new time counts. Otherwise the bucket would not refill until the clock reached the old time.
 */
function afterClockJump(at: number, now: number): number {
  return at - now <= skewMs ? at : now;
}

const skewMs = 60_000;
