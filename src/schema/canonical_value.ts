import { shortestDecimal } from "./kinds/decimal_kind.ts";
import { writeJson } from "./exact_json.ts";
import type { ColumnInfo } from "./table_info.ts";

/**
 * The canonical text of a column's value: the same for two in-process values exactly when they are
 * equal.
 */
export function canonicalValueText(value: unknown, column: ColumnInfo): string {
  // A list within a list is another one than its items.
  const text = typeof value === "object" && value !== null ? writeJson(value) : String(value);
  // The text 1 is another value than the number.
  if (column.databaseType?.shape.kind === "any" && typeof value === "string") return `"${text}"`;
  // `1.50` equals `1.5` where the column leaves the scale to the value.
  return column.kind === "decimal" ? shortestDecimal(text) : text;
}
