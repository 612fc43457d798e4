import { type Bucket, roundingTolerance, type TokenLimit } from "./token_bucket.ts";

/** A limit, and what is left of it. */
export interface RateLimitState {
  readonly limit: TokenLimit;
  readonly left: Bucket;
}

/**
 * What is left of the limits that apply, beside other headers
 * (draft-ietf-httpapi-ratelimit-headers).
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
    // Written out, because it is done for every answer, and headers are what an answer costs.
    return { ...headers, "ratelimit-policy": one.limit.policy, "ratelimit": stateOf(one, now) };
  }
  return {
    ...headers,
    "ratelimit-policy": `${rate.limit.policy}, ${budget.limit.policy}`,
    "ratelimit": `${stateOf(rate, now)}, ${stateOf(budget, now)}`,
  };
}

/** The whole seconds until so much is there; null where it never will be. */
export function secondsUntil(
  amount: number,
  { limit, left }: RateLimitState,
  now: number,
): number | null {
  const seconds = limit.waitMs(left, amount, now) / 1_000;
  return seconds === Infinity ? null : Math.max(0, Math.ceil(seconds - roundingTolerance));
}

/** `t` is when there will be more; Retry-After is never earlier. */
function stateOf(standing: RateLimitState, now: number): string {
  const { limit, left } = standing;
  const remaining = Math.max(0, Math.floor(left.tokens + roundingTolerance));
  const seconds = secondsUntil(Math.min(limit.capacity, remaining + 1), standing, now);
  return seconds === null
    ? `"${limit.name}";r=${remaining}`
    : `"${limit.name}";r=${remaining};t=${seconds}`;
}
