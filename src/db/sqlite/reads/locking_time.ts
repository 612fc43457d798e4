import type { PlannedStatement } from "../../../compile/compile.ts";
import type { Statement } from "../../../sql/fragment.ts";
import { fixedLimit, type TimeLimit } from "./statement_deadline.ts";

/** No other request is served then, and no other thread can run a part of a transaction. */
const maxLockingMs = 100;

const locking: TimeLimit = fixedLimit(maxLockingMs, () => false);

/**
 * How long a statement of a transaction on SQLite may run that reads rows to write them: by key,
 * but with a filter of a client, which may take long for each row. Null for any other statement.
 */
export function lockingTime(statement: Statement): TimeLimit | null {
  // A statement has a plan when a compiler made it.
  const plan = "plan" in statement ? (statement as PlannedStatement).plan : null;
  return plan?.kind === "read" && plan.lock === true ? locking : null;
}
