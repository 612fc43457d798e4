import { parseJson } from "../../../schema/exact_json.ts";
import type { RowEstimate } from "../../../sql/dialect.ts";
import { sql, type SqlValue } from "../../../sql/fragment.ts";

export const postgresRowEstimate: RowEstimate = {
  statement: (select) => sql`EXPLAIN (FORMAT JSON) ${select}`,
  parse: plannedRows,
};

/** Returns the number of rows (120) in `[{"Plan": {"Plan Rows": 120, …}}]`, or null. */
function plannedRows(cell: SqlValue): number | null {
  const plans = typeof cell === "string" ? parseJson(cell) : undefined;
  if (!Array.isArray(plans)) return null;
  // Each member can be missing, because other servers with this protocol have other plans.
  const [first] =
    plans as readonly ({ readonly Plan?: { readonly "Plan Rows"?: unknown } } | null)[];
  const rows = first?.Plan?.["Plan Rows"];
  return typeof rows === "number" ? rows : null;
}
