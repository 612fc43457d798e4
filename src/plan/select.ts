import type { ColumnInfo } from "../schema/table_info.ts";

/**
 * `select=a,b` → those of the readable columns that it names, in the table's order. Hidden and
 * unknown names are alike silently absent; no `select` is every readable column.
 */
export function parseSelect(
  text: string | undefined,
  readable: readonly ColumnInfo[],
): readonly ColumnInfo[] {
  if (text === undefined) return readable;
  const names = new Set(text.split(",").map((name) => name.trim()));
  return readable.filter((column) => names.has(column.name));
}
