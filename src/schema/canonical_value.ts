import { shortestDecimal } from "./decimal_kind.ts";
import type { ColumnInfo } from "./table_info.ts";

/** A text that is the same for two in-process values of a column exactly when they are equal. */
export function canonicalValueText(value: unknown, column: ColumnInfo): string {
  const text = String(value);
  // `1.50` equals `1.5` where the column leaves the scale to the value.
  return column.kind === "decimal" ? shortestDecimal(text) : text;
}
