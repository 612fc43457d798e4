import { parseJson } from "../../../schema/exact_json.ts";
import type { RowEstimate } from "../../../sql/dialect.ts";
import { sql, type SqlValue } from "../../../sql/fragment.ts";

/** The estimates of the Postgres planner. */
export const postgresEstimate: RowEstimate = {
  statement: (select) => sql`EXPLAIN (FORMAT JSON) ${select}`,
  parse: plannedRows,
};

/** Returns 120 for `[{"Plan": {"Plan Rows": 120, …}}]`. */
function plannedRows(cell: SqlValue): number | null {
  const plans = typeof cell === "string" ? parseJson(cell) : undefined;
  if (!Array.isArray(plans)) return null;
  // Any member may be missing, because other servers of this protocol may have other plans.
  const [first] =
    plans as readonly ({ readonly Plan?: { readonly "Plan Rows"?: unknown } } | null)[];
  const rows = first?.Plan?.["Plan Rows"];
  return typeof rows === "number" ? rows : null;
}
