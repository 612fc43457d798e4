import { Problem } from "../../problem/problem.ts";
import { type Bucket, type BucketPolicy, roundingTolerance } from "./token_bucket.ts";

/** A rate limit and the remaining tokens of a caller, for the rate-limit headers. */
export interface RateLimitState {
  readonly limit: BucketPolicy;
  readonly left: Bucket;
}

/** Adds rate-limit headers (draft-ietf-httpapi-ratelimit-headers) for the applicable limits. */
export function withRateHeaders(
  headers: Readonly<Record<string, string>>,
  rate: RateLimitState | null,
  budget: RateLimitState | null,
  now: number,
): Readonly<Record<string, string>> {
  const one = rate ?? budget;
  if (one === null) return headers;
  if (rate === null || budget === null) {
    // One limit is handled without a list, because this code runs for every reply.
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

/** Returns the 429 for a limit that lacks `amount` tokens, with Retry-After if waiting helps. */
export function rateLimitProblem(
  slug: keyof typeof details,
  state: RateLimitState | null,
  amount: number,
  now: number,
): Problem {
  const seconds = state === null ? null : secondsUntilTokens(amount, state, now);
  const headers: Record<string, string> = {};
  if (seconds !== null) headers["retry-after"] = String(Math.max(1, seconds));
  return new Problem(slug, details[slug], { headers });
}

/** Returns the whole seconds until `amount` tokens are available, or null if waiting is useless. */
export function secondsUntilTokens(
  amount: number,
  { limit, left }: RateLimitState,
  now: number,
): number | null {
  const seconds = limit.waitMs(left, amount, now) / 1_000;
  return seconds === Infinity ? null : Math.max(0, Math.ceil(seconds - roundingTolerance));
}

/** Returns the `RateLimit` header. Its `t` is the number of seconds until the next token. */
function stateOf(state: RateLimitState, now: number): string {
  const { limit, left } = state;
  const remaining = Math.max(0, Math.floor(left.tokens + roundingTolerance));
  const seconds = secondsUntilTokens(Math.min(limit.capacity, remaining + 1), state, now);
  return seconds === null
    ? `"${limit.name}";r=${remaining}`
    : `"${limit.name}";r=${remaining};t=${seconds}`;
}
