import { ownTimestamps } from "../../../schema/table_info.ts";
import { rowIdNames } from "../../../sql/sqlite/recorded_table.ts";
import type { ColumnDraft } from "../../introspection.ts";

/**
 * The column that gives each row of a SQLite table without a key its number, by a name that no
 * column of the table has. Null where all of these names are taken.
 *
 * A row keeps its number until VACUUM, which may give the rows other ones.
 */
export function rowIdColumn(columns: readonly string[]): ColumnDraft | null {
  const taken = new Set(columns.map((name) => name.toLowerCase()));
  const name = rowIdNames.find((one) => !taken.has(one));
  if (name === undefined) return null;
  return {
    name,
    dbName: name,
    kind: "integer",
    notNull: true,
    unique: false,
    generated: false,
    defaultSql: "the next row id",
    enumValues: null,
    precision: null,
    scale: null,
    maxLength: null,
    existingType: "INTEGER",
    looseCollation: false,
    timestampFormat: ownTimestamps,
  };
}
