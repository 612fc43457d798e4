import { kindProperties } from "../../../../schema/kinds/kind_properties.ts";
import type { ColumnInfo, TableInfo } from "../../../../schema/table_info.ts";
import {
  identifier,
  join,
  sql,
  type Statement,
  tableName,
  toStatement,
} from "../../../../sql/fragment.ts";
import { scanCheck } from "../../sql/time_check.ts";

/** Returns the columns that can have long values: all columns, unless types are enforced. */
export function longColumns({ own, columns }: TableInfo): readonly ColumnInfo[] {
  return own ? columns.filter(({ kind }) => kindProperties[kind].isLong) : columns;
}

/** Returns the statement that selects the total length of the longest values of one row. */
export function widestRowStatement(table: TableInfo, columns: readonly ColumnInfo[]): Statement {
  const lengths = columns.map(({ dbName }) => sql`ifnull(octet_length(${identifier(dbName)}), 0)`);
  return toStatement(
    sql`SELECT max(${join(lengths, " + ")}) FROM ${tableName(table)} WHERE ${scanCheck()}`,
    () => "?",
  );
}
