import { Problem } from "../../problem/problem.ts";
import { type Bucket, type BucketPolicy, roundingTolerance } from "./token_bucket.ts";

/** A limit and its remaining tokens, for the rate-limit headers. */
export interface RateLimitState {
  readonly limit: BucketPolicy;
  readonly left: Bucket;
}

/**
 * Adds the rate-limit headers to the headers of a reply: the remaining tokens of the limits that
 * apply (draft-ietf-httpapi-ratelimit-headers).
 */
export function withRateHeaders(
  headers: Readonly<Record<string, string>>,
  rate: RateLimitState | null,
  budget: RateLimitState | null,
  now: number,
): Readonly<Record<string, string>> {
  const one = rate ?? budget;
  if (one === null) return headers;
  if (rate === null || budget === null) {
    // There is no list of limits, because this code runs for every reply and a list would dominate
    // its cost.
    return { ...headers, "ratelimit-policy": one.limit.header, "ratelimit": stateOf(one, now) };
  }
  return {
    ...headers,
    "ratelimit-policy": `${rate.limit.header}, ${budget.limit.header}`,
    "ratelimit": `${stateOf(rate, now)}, ${stateOf(budget, now)}`,
  };
}

const details = {
  "rate-limit-exceeded": "Too many requests to this resource",
  "budget-exhausted": "The budget for this request is used up",
} as const;

/** Returns the 429 of a rate limit that lacks `amount`, with Retry-After if waiting helps. */
export function limitProblem(
  slug: keyof typeof details,
  state: RateLimitState | null,
  amount: number,
  now: number,
): Problem {
  const seconds = state === null ? null : secondsUntil(amount, state, now);
  const headers: Record<string, string> = {};
  if (seconds !== null) headers["retry-after"] = String(Math.max(1, seconds));
  return new Problem(slug, details[slug], { headers });
}

/** Returns the whole seconds until `amount` is available, or null if it never will be. */
export function secondsUntil(
  amount: number,
  { limit, left }: RateLimitState,
  now: number,
): number | null {
  const seconds = limit.waitMs(left, amount, now) / 1_000;
  return seconds === Infinity ? null : Math.max(0, Math.ceil(seconds - roundingTolerance));
}

/** Returns a header value. `t` is the time until another token; Retry-After is never shorter. */
function stateOf(state: RateLimitState, now: number): string {
  const { limit, left } = state;
  const remaining = Math.max(0, Math.floor(left.tokens + roundingTolerance));
  const seconds = secondsUntil(Math.min(limit.capacity, remaining + 1), state, now);
  return seconds === null
    ? `"${limit.name}";r=${remaining}`
    : `"${limit.name}";r=${remaining};t=${seconds}`;
}
