import type { Driver } from "../../../db/driver.ts";
import type { UnboundStatement } from "../../../db/engine/engine.ts";

/** Returns the steps of a statement, indented by their depth, and does not run the statement. */
export async function readSqlitePlan(
  driver: Driver,
  { text, parameters }: UnboundStatement,
): Promise<readonly string[]> {
  const { rows } = await driver.query({
    text: `EXPLAIN QUERY PLAN ${text}`,
    values: Array(parameters).fill(null),
  });
  const depths = new Map<unknown, number>();
  return rows.map(([id, parent, , detail]) => {
    const depth = (depths.get(parent) ?? -1) + 1;
    depths.set(id, depth);
    return "  ".repeat(depth) + String(detail);
  });
}
