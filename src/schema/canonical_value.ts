import { kindFacts } from "./kinds/kind_facts.ts";
import { shortestDecimal } from "./kinds/decimal_kind.ts";
import { writeJson } from "./exact_json.ts";
import type { ColumnInfo } from "./table_info.ts";

/** Returns the canonical text of a value. Equal values, and only these, have the same text. */
export function canonicalValueText(value: unknown, column: ColumnInfo): string {
  // A list within a list differs from its items.
  const text = typeof value === "object" && value !== null ? writeJson(value) : String(value);
  // The string "1" differs from the number 1.
  if (column.databaseType?.shape.kind === "any" && typeof value === "string") return `"${text}"`;
  // `1.50` equals `1.5` if the column has no fixed scale.
  return kindFacts[column.kind].arithmetic === "decimal" ? shortestDecimal(text) : text;
}
