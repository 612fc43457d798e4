import type { ColumnInfo } from "../../../schema/table_info.ts";

/** Returns the type name of an introspected column without its numbers, such as `(3)`. */
export function introspectedTypeName(column: ColumnInfo): string {
  return column.existingType?.toLowerCase().replace(/\s*\(.*?\)/, "") ?? "";
}

export const singlePrecisionTypes: ReadonlySet<string> = new Set(["real", "float4"]);
