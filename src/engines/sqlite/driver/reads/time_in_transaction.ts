import type { PlannedStatement } from "../../../../compile/compile.ts";
import type { Statement } from "../../../../sql/fragment.ts";
import { fixedLimit, type TimeLimit } from "../read_limits.ts";

/** No other request is served then, and no other thread can run a part of a transaction. */
const maxLockingMs = 100;

/**
 * How long a statement of a transaction on SQLite may run: less where it reads rows to write them, by
 * key, but with a filter of a client, which may take long for each row; and as long as a read may
 * where an operation in code reads. Null for any other statement.
 */
export function timeInTransaction(statement: Statement): TimeLimit | null {
  // A statement has a plan when a compiler made it.
  const plan = "plan" in statement ? (statement as PlannedStatement).plan : null;
  const isLocking = plan?.kind === "read" && plan.lock === true;
  const limitMs = isLocking ? maxLockingMs : statement.timeoutMs;
  return limitMs === undefined ? null : fixedLimit(limitMs, () => false);
}
