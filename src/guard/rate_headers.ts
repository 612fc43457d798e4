import { type Bucket, type Limit, tiny } from "./limit.ts";

/** A limit, and what is left of it. */
export interface Standing {
  readonly limit: Limit;
  readonly left: Bucket;
}

/** What is left of the limits that apply, as headers (draft-ietf-httpapi-ratelimit-headers). */
export function rateHeaders(
  standings: readonly Standing[],
  now: number,
): Readonly<Record<string, string>> {
  if (standings.length === 0) return {};
  return {
    "ratelimit-policy": standings.map(({ limit }) => policyOf(limit)).join(", "),
    "ratelimit": standings.map((standing) => stateOf(standing, now)).join(", "),
  };
}

/** The whole seconds until so much is there; null where it never will be. */
export function secondsUntil(
  amount: number,
  { limit, left }: Standing,
  now: number,
): number | null {
  const seconds = limit.waitMs(left, amount, now) / 1_000;
  return seconds === Infinity ? null : Math.max(0, Math.ceil(seconds - tiny));
}

function policyOf({ name, capacity, spanMs }: Limit): string {
  const window = spanMs === Infinity ? "" : `;w=${Math.max(1, Math.ceil(spanMs / 1_000))}`;
  return `"${name}";q=${Math.floor(capacity)}${window}`;
}

/** `t` is when there will be more; Retry-After is never earlier. */
function stateOf(standing: Standing, now: number): string {
  const { limit, left } = standing;
  const remaining = Math.max(0, Math.floor(left.tokens + tiny));
  const seconds = secondsUntil(Math.min(limit.capacity, remaining + 1), standing, now);
  return `"${limit.name}";r=${remaining}${seconds === null ? "" : `;t=${seconds}`}`;
}
