import type { ColumnInfo, TableInfo } from "../../schema/table_info.ts";
import { quoteIdentifier, type Statement } from "../fragment.ts";
import { sqlName } from "./change_log_schema.ts";

/** The statement that sets the sequence of a key after its largest value; nothing without one. */
export function advanceCounter({ dbName }: ColumnInfo, table: TableInfo): Statement {
  const largest = `SELECT max(${quoteIdentifier(dbName)}) FROM ${sqlName(table)}`;
  return {
    text: `SELECT setval(s, greatest(pg_sequence_last_value(s), (${largest})))
      FROM (SELECT pg_get_serial_sequence($1, $2)::regclass AS s) AS counter WHERE s IS NOT NULL`,
    values: [sqlName(table), dbName],
  };
}
