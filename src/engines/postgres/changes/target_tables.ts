import { parseJson } from "../../../schema/exact_json.ts";
import { quoteIdentifier, type Statement } from "../../../sql/fragment.ts";
import type { Connection } from "../../../db/driver.ts";

/**
 * Returns the full names, as in the change log, of the tables that a statement writes to. The
 * function reads the names in the plan of the statement, which is not run. The plan does not
 * include writes by triggers and functions. Only INSERT, UPDATE, DELETE, MERGE and WITH can be
 * explained. Returns null if the server returns no readable plan.
 */
export async function readTargetTables(
  { text, values }: Statement,
  connection: Connection,
): Promise<ReadonlySet<string> | null> {
  const { rows } = await connection.query({
    text: `EXPLAIN (VERBOSE, FORMAT JSON) ${text}`,
    values,
  });
  const plans = parseJson(String(rows[0]?.[0]));
  if (!Array.isArray(plans)) return null;
  const targets = new Set<string>();
  collectTargets(plans, targets);
  return targets;
}

/** The members of a plan that the service uses. A server may omit any member. */
interface PlanNode {
  readonly "Node Type"?: unknown;
  readonly "Schema"?: unknown;
  readonly "Relation Name"?: unknown;
}

function collectTargets(node: unknown, targets: Set<string>): void {
  if (typeof node !== "object" || node === null) return;
  const { "Node Type": type, "Schema": schema, "Relation Name": name }: PlanNode = node;
  if (type === "ModifyTable" && typeof schema === "string" && typeof name === "string") {
    targets.add(`${quoteIdentifier(schema)}.${quoteIdentifier(name)}`);
  }
  for (const member of Object.values(node)) collectTargets(member, targets);
}
