import { Problem } from "../../problem/problem.ts";
import { type Bucket, type BucketPolicy, roundingTolerance } from "./token_bucket.ts";

export interface RateLimitState {
  readonly limit: BucketPolicy;
  readonly left: Bucket;
}

/** Adds the headers of draft-ietf-httpapi-ratelimit-headers for the limits that apply. */
export function withRateHeaders(
  headers: Readonly<Record<string, string>>,
  rate: RateLimitState | null,
  budget: RateLimitState | null,
  now: number,
): Readonly<Record<string, string>> {
  const one = rate ?? budget;
  if (one === null) return headers;
  if (rate === null || budget === null) {
    // Most replies have only one limit. For speed, no list is created for it.
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

/** Returns the 429 for a caller with too few tokens. It has Retry-After only if waiting helps. */
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

/** Returns the whole seconds until the bucket has `amount` tokens; null if it never will. */
export function secondsUntilTokens(
  amount: number,
  { limit, left }: RateLimitState,
  now: number,
): number | null {
  const seconds = limit.waitMs(left, amount, now) / 1_000;
  return seconds === Infinity ? null : Math.max(0, Math.ceil(seconds - roundingTolerance));
}

function stateOf(state: RateLimitState, now: number): string {
  const { limit, left } = state;
  const remaining = Math.max(0, Math.floor(left.tokens + roundingTolerance));
  const seconds = secondsUntilTokens(Math.min(limit.capacity, remaining + 1), state, now);
  return seconds === null
    ? `"${limit.name}";r=${remaining}`
    : `"${limit.name}";r=${remaining};t=${seconds}`;
}
