import type { ColumnInfo } from "../../../schema/table_info.ts";

export function introspectedTypeName(column: ColumnInfo): string {
  return column.existingType?.toLowerCase().replace(/\s*\(.*?\)/, "") ?? "";
}

export const singlePrecisionTypes: ReadonlySet<string> = new Set(["real", "float4"]);
