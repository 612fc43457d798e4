import { kindFacts } from "./kinds/kind_facts.ts";
import { shortestDecimal } from "./kinds/decimal_kind.ts";
import { writeJson } from "./exact_json.ts";
import type { ColumnInfo } from "./table_info.ts";

/** Returns a string for a column value. Only equal values have the same string. */
export function canonicalValueText(value: unknown, column: ColumnInfo): string {
  // A list inside a list must differ from the items of that list, so it stays JSON text.
  const text = typeof value === "object" && value !== null ? writeJson(value) : String(value);
  // A list inside a list must differ from its items, so JSON keeps the brackets.
  if (column.databaseType?.shape.kind === "any" && typeof value === "string") return `"${text}"`;
  // In a decimal column without a fixed scale, `1.50` equals `1.5`.
  return kindFacts[column.kind].arithmetic === "decimal" ? shortestDecimal(text) : text;
}
