import type { PlannedStatement } from "../../../../compile/compile.ts";
import type { Statement } from "../../../../sql/fragment.ts";
import { fixedTimeLimit, type TimeLimit } from "../read_limits.ts";

/** The time limit, in ms, of a locking read: all other requests wait until it ends. */
const maxLockingMs = 100;

/** Returns the time limit of a read before a write, or null: a client's filter can be slow. */
export function timeInTransaction(statement: Statement): TimeLimit | null {
  // The cast is safe: only the compiler adds a plan to a statement.
  const plan = "plan" in statement ? (statement as PlannedStatement).plan : null;
  const isLocking = plan?.kind === "read" && plan.lock === true;
  const limitMs = isLocking ? maxLockingMs : statement.timeoutMs;
  return limitMs === undefined ? null : fixedTimeLimit(limitMs, () => false);
}
