import { kindProperties } from "./kinds/kind_properties.ts";
import { shortestDecimal } from "./kinds/decimal_kind.ts";
import { writeJson } from "./exact_json.ts";
import type { ColumnInfo } from "./table_info.ts";

/** Returns a string for a value of a column, which is the same only for equal values. */
export function canonicalValueText(value: unknown, column: ColumnInfo): string {
  // JSON keeps the structure of lists in a list, which `String` would flatten.
  const text = typeof value === "object" && value !== null ? writeJson(value) : String(value);
  // With quotes, the string "5" differs from the number 5 in an `any` column.
  if (column.databaseType?.shape.kind === "any" && typeof value === "string") return `"${text}"`;
  // `1.50` equals `1.5` in a decimal column without a fixed scale.
  return kindProperties[column.kind].arithmetic === "decimal" ? shortestDecimal(text) : text;
}
