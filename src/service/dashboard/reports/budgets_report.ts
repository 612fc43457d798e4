import type { RateLimiter } from "../../../guard/budget/rate_limiter.ts";
import type { Guard } from "../../../guard/guard.ts";
import type { Report } from "../report.ts";

/** Creates the report of the 100 callers that used most of a limit, as this process knows. */
export function createBudgetsReport(guard: Pick<Guard, "limits">): Report {
  return {
    name: "budgets",
    method: "GET",
    answer() {
      const all = guard.limits().flatMap(spendersOf);
      all.sort((one, other) => other.spent / other.capacity - one.spent / one.capacity);
      return { identities: all.slice(0, 100), total: all.length };
    },
  };
}

function spendersOf(limiter: RateLimiter) {
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
