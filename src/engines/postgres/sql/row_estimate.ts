import { parseJson } from "../../../schema/exact_json.ts";
import type { RowEstimate } from "../../../sql/dialect.ts";
import { sql, type SqlValue } from "../../../sql/fragment.ts";

/** The estimates of Postgres' planner. */
export const postgresEstimate: RowEstimate = {
  statement: (select) => sql`EXPLAIN (FORMAT JSON) ${select}`,
  parse: plannedRows,
};

/** `[{"Plan": {"Plan Rows": 120, …}}]` → 120. */
function plannedRows(cell: SqlValue): number | null {
  const plans = typeof cell === "string" ? parseJson(cell) : undefined;
  if (!Array.isArray(plans)) return null;
  // Each member may be missing: other servers of this protocol may have other plans.
  const [first] =
    plans as readonly ({ readonly Plan?: { readonly "Plan Rows"?: unknown } } | null)[];
  const rows = first?.Plan?.["Plan Rows"];
  return typeof rows === "number" ? rows : null;
}
