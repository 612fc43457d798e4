import type { RateLimiter } from "../../../guard/budget/rate_limiter.ts";
import type { Guard } from "../../../guard/guard.ts";
import type { Report } from "../report.ts";

/** How much of each budget and rate limit each caller has used, as far as this process knows. */
export interface BudgetsReport {
  /** The 100 callers that have used the largest part of a limit. */
  readonly identities: readonly Spender[];
  /** The number of callers that have used any part of a limit. */
  readonly total: number;
}

interface Spender {
  /** The name of a budget, or the URL of a resource with a rate limit. */
  readonly limit: string;
  /** A user id or IP address. All IPv6 addresses of one network count as one. */
  readonly identity: string;
  readonly spent: number;
  readonly left: number;
  readonly capacity: number;
  /** The limit in the syntax of the header `RateLimit-Policy`. */
  readonly policy: string;
}

/** Creates the report of the callers that have used the largest part of a limit. */
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
