import type { ColumnInfo, Row } from "../../schema/table_info.ts";
import type { Dialect } from "../../sql/dialect.ts";
import type { SqlValue } from "../../sql/fragment.ts";
import { columnValue } from "./row_matches.ts";

/** A row as a change left it. */
export interface RowImage {
  /** As it is in process, hidden columns included. */
  readonly row: Row;
  /**
   * What is stored where the row in process does not tell it exactly: a document that is the JSON
   * null, a moment in another format than the column's, bytes in a column for texts.
   */
  readonly inexact?: ReadonlyMap<ColumnInfo, SqlValue> | undefined;
}

/** The image of a row that was decoded from these stored values. */
export function rowImageOf(
  row: Row,
  stored: readonly SqlValue[],
  columns: readonly ColumnInfo[],
  dialect: Dialect,
): RowImage {
  let inexact: Map<ColumnInfo, SqlValue> | undefined;
  for (const [index, column] of columns.entries()) {
    const value = stored[index] ?? null;
    if (dialect.roundTrips(value, columnValue(row, column), column)) continue;
    inexact ??= new Map();
    inexact.set(column, value);
  }
  return { row, inexact };
}
