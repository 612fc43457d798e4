import type { RateLimiter } from "../../../guard/budget/rate_limiter.ts";
import type { Guard } from "../../../guard/guard.ts";
import type { Report } from "../report.ts";

/** The tokens that callers have spent of budgets and rate limits, as seen by this process. */
export interface BudgetsReport {
  /** The 100 callers that have spent the largest parts. */
  readonly identities: readonly Spender[];
  /** Number of callers that have spent something. */
  readonly total: number;
}

interface Spender {
  /** The class of a budget, or the URL of a resource with a rate limit. */
  readonly limit: string;
  /** A user id or an address. For IPv6, the group of addresses that count together. */
  readonly identity: string;
  readonly spent: number;
  readonly left: number;
  readonly capacity: number;
  /** Policy as in `RateLimit-Policy`. */
  readonly policy: string;
}

/** Creates the report of the callers that have spent the largest parts of their limits. */
export function createBudgetsReport(guard: Pick<Guard, "limits">): Report {
  return {
    name: "budgets",
    method: "GET",
    answer(): BudgetsReport {
      const all = guard.limits().flatMap(spendersOf);
      all.sort((one, other) => other.spent / other.capacity - one.spent / one.capacity);
      return { identities: all.slice(0, 100), total: all.length };
    },
  };
}

function spendersOf(limiter: RateLimiter): readonly Spender[] {
  const { id, limit: { capacity, header } } = limiter;
  return Array.from(limiter.spenders(), ({ caller, left }) => ({
    limit: id.replace(/^(?:budget|rate) /, ""),
    identity: `${caller.startsWith("u") ? "user" : "address"} ${caller.slice(1)}`,
    spent: Math.round(100 * (capacity - left)) / 100,
    left: Math.round(100 * left) / 100,
    capacity,
    policy: header,
  }));
}
