import type { ColumnInfo } from "../../../schema/table_info.ts";

/**
 * The name of an introspected Postgres column's type without numbers: `timestamp(3) without time
 * zone` without the `(3)`.
 */
export function introspectedTypeName(column: ColumnInfo): string {
  return column.existingType?.toLowerCase().replace(/\s*\(.*?\)/, "") ?? "";
}

/** The introspected types of Postgres that are reals with half the digits. */
export const singleTypes: ReadonlySet<string> = new Set(["real", "float4"]);
