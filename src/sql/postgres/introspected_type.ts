import type { ColumnInfo } from "../../schema/table_info.ts";

/** The declared type without numbers: `timestamp(3) without time zone` without the `(3)`. */
export function introspectedTypeName(column: ColumnInfo): string {
  return column.existingType?.toLowerCase().replace(/\s*\(.*?\)/, "") ?? "";
}

/** The names of the reals with half the digits. */
export const singleTypes: ReadonlySet<string> = new Set(["real", "float4"]);
