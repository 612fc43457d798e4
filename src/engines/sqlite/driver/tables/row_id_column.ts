import { plainColumn } from "../../../../schema/table_info.ts";
import { rowIdNames } from "../../sql/recorded_table.ts";
import type { ColumnDraft } from "../../../../db/introspection.ts";

/** Returns the row id as a column (VACUUM can change it), or null if all its names are taken. */
export function rowIdColumn(columns: readonly string[]): ColumnDraft | null {
  const taken = new Set(columns.map((name) => name.toLowerCase()));
  const name = rowIdNames.find((one) => !taken.has(one));
  if (name === undefined) return null;
  return {
    ...plainColumn,
    ...{ name, dbName: name, kind: "integer", existingType: "INTEGER" },
    notNull: true,
    defaultSql: "the next row id",
  };
}
