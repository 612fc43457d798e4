import type { ExplainDialect } from "../../../sql/explain_dialect.ts";
import { parseJson } from "../../../schema/exact_json.ts";
import type { RowEstimate } from "../../../sql/dialect.ts";
import { sql, type SqlValue } from "../../../sql/fragment.ts";

/**
 * Shows Postgres query plans, read as JSON, because values in the text form can contain line
 * breaks. The planner writes bound values into conditions, so they are masked. It simplifies a
 * comparison with a boolean to the column or its negation, without a value.
 */
export const postgresExplain: ExplainDialect = {
  statement: (text) => `EXPLAIN (FORMAT JSON) ${text}`,
  lines(rows) {
    const cell = rows[0]?.[0];
    const plans: unknown = typeof cell === "string" ? JSON.parse(cell) : null;
    return Array.isArray(plans) ? plans.flatMap((one) => linesOf(memberOf(one, "Plan"), 0)) : [];
  },
};

function linesOf(node: unknown, depth: number): readonly string[] {
  const indent = "  ".repeat(depth);
  const parts = memberOf(node, "Plans");
  return [
    indent + headOf(node),
    ...conditionsOf(node).map((line) => `${indent}  ${line}`),
    ...(Array.isArray(parts) ? parts.flatMap((one) => linesOf(one, depth + 1)) : []),
  ];
}

/** Returns a line like `Index Scan using notes_pkey on notes (cost=0.15..8.17 rows=1)`. */
function headOf(node: unknown): string {
  const what = [
    textAt(node, "Subplan Name", (name) => `${name}: `),
    textAt(node, "Node Type", (type) => type),
    textAt(node, "Join Type", (type) => ` (${type})`),
    textAt(node, "Index Name", (name) => ` using ${name}`),
    textAt(node, "Relation Name", (name) => ` on ${name}`),
  ];
  const [from, to, count] = ["Startup Cost", "Total Cost", "Plan Rows"].map((name) =>
    String(memberOf(node, name))
  );
  return `${what.join("")}  (cost=${from}..${to} rows=${count})`;
}

function conditionsOf(node: unknown): readonly string[] {
  if (typeof node !== "object" || node === null) return [];
  return Object.entries(node).filter(([name]) => conditions.test(name)).map(([name, value]) =>
    `${name}: ${[value].flat().map((one) => withoutConstants(String(one))).join(", ")}`
  );
}

const conditions = /(?:^| )(?:Cond|Filter|Key)$/;

function withoutConstants(expression: string): string {
  return expression.replace(tokens, (token) => /^['\d]/.test(token) ? "?" : token);
}

/** Matches a quoted name, a string with doubled quotes, a name or a parameter, or a number. */
const tokens =
  /"(?:[^"]|"")*"|'(?:[^']|'')*'|[$_\p{L}][$_\p{L}\p{N}]*|\d+(?:\.\d+)?(?:e[+-]?\d+)?/giu;

function textAt(node: unknown, name: string, shown: (text: string) => string): string {
  const value = memberOf(node, name);
  return typeof value === "string" ? shown(value) : "";
}

function memberOf(node: unknown, name: string): unknown {
  return typeof node === "object" && node !== null ? Reflect.get(node, name) : undefined;
}

export const postgresEstimate: RowEstimate = {
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
