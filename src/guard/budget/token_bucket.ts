import type { BudgetClassOptions } from "./budget_options.ts";
import type { RateLimitOptions } from "../resource_protection_options.ts";

export interface Bucket {
  readonly tokens: number;
  /** The time when the tokens were counted, or when the time window began, in ms since 1970. */
  readonly at: number;
}

/** The capacity of token buckets, and how they refill. The functions have no side effects. */
export interface BucketPolicy {
  readonly name: string;
  readonly capacity: number;
  /** Value of the `RateLimit-Policy` header: `"budget";q=100;w=60`. */
  readonly header: string;
  /** Returns the bucket at a later time. It never exceeds the capacity, even if the clock jumps. */
  refill(bucket: Bucket, now: number): Bucket;
  /** Returns the milliseconds until the bucket has `amount` tokens. Call `refill` first. */
  waitMs(bucket: Bucket, amount: number, now: number): number;
  isSameSpan(left: Bucket, right: Bucket): boolean;
}

export function fullBucket({ capacity }: BucketPolicy, now: number): Bucket {
  return { tokens: capacity, at: now };
}

/** Tolerance for rounding errors in tokens, so that a token is there after the computed wait. */
export const roundingTolerance = 1e-6;

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

/** Returns the `RateLimit-Policy` header. `w` is the seconds in which an empty bucket refills. */
function policyOf(name: string, capacity: number, spanMs: number): string {
  const window = spanMs === Infinity ? "" : `;w=${Math.max(1, Math.ceil(spanMs / 1_000))}`;
  return `"${name}";q=${Math.floor(capacity)}${window}`;
}

/** Keeps `at` if the clocks differ slightly, so that two processes do not refill twice. */
function afterClockJump(at: number, now: number): number {
  return at - now <= skewMs ? at : now;
}

const skewMs = 60_000;
