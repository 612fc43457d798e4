import { kindProperties } from "./kinds/kind_properties.ts";
import { shortestDecimal } from "./kinds/decimal_kind.ts";
import { writeJson } from "./exact_json.ts";
import type { ColumnInfo } from "./table_info.ts";

/** Returns a string for a column value. Only equal values have the same string. */
export function canonicalValueText(value: unknown, column: ColumnInfo): string {
  // A list or object becomes JSON, because `String` would flatten a nested list.
  const text = typeof value === "object" && value !== null ? writeJson(value) : String(value);
  // In an `any` column, quotes distinguish the string "5" from the number 5.
  if (column.databaseType?.shape.kind === "any" && typeof value === "string") return `"${text}"`;
  // In a decimal column without a fixed scale, `1.50` equals `1.5`.
  return kindProperties[column.kind].arithmetic === "decimal" ? shortestDecimal(text) : text;
}
