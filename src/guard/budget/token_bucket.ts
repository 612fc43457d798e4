import type { BudgetClassOptions } from "./budget_options.ts";
import type { RateLimitOptions } from "../resource_protection_options.ts";

/** A token bucket: what was left for one caller, and when. */
export interface Bucket {
  readonly tokens: number;
  /** Milliseconds since 1970; of a window, when it began. */
  readonly at: number;
}

/**
 * The policy of a token bucket: the capacity for each caller, and how it refills. Pure: a bucket is
 * a value.
 */
export interface BucketPolicy {
  /** Names it in headers. */
  readonly name: string;
  readonly capacity: number;
  /** The value of `RateLimit-Policy`: `"budget";q=100;w=60`. */
  readonly header: string;
  /** The bucket as it is now. Never above the capacity, whichever way a clock jumps. */
  refill(bucket: Bucket, now: number): Bucket;
  /** How long after `now` so many tokens are available, in a bucket that was refilled now. */
  waitMs(bucket: Bucket, amount: number, now: number): number;
  /** Returns true if tokens taken from the one may be returned to the other. */
  isSameSpan(left: Bucket, right: Bucket): boolean;
}

/** The token bucket of a caller that has taken nothing yet. */
export function fullBucket({ capacity }: BucketPolicy, now: number): Bucket {
  return { tokens: capacity, at: now };
}

/**
 * The rounding tolerance of token buckets, since sums of fractions are not exact: a token must be
 * available after the wait that was announced.
 */
export const roundingTolerance = 1e-6;

/** The policy of a token bucket that refills continuously. */
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

/**
 * The policy of a token bucket that is full again in each fixed window, which begins with its first
 * request.
 */
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

/** `w` is how long an empty bucket takes to refill. */
function policyOf(name: string, capacity: number, spanMs: number): string {
  const window = spanMs === Infinity ? "" : `;w=${Math.max(1, Math.ceil(spanMs / 1_000))}`;
  return `"${name}";q=${Math.floor(capacity)}${window}`;
}

/**
 * The clocks of processes differ a little, and if each could set a bucket back to its own time,
 * processes that take turns would refill it. But a clock that was far ahead and was corrected must
 * not stop the refill until it has caught up.
 */
function afterClockJump(at: number, now: number): number {
  return at - now <= skewMs ? at : now;
}

const skewMs = 60_000;
