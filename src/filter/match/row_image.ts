import type { ColumnInfo, Row } from "../../schema/table_info.ts";
import type { Dialect } from "../../sql/dialect.ts";
import type { SqlValue } from "../../sql/fragment.ts";
import { columnValue } from "./row_matches.ts";

/** A row image for filters: a row as it was before or after a change. */
export interface RowImage {
  /** The values in process, hidden columns included. */
  readonly row: Row;
  /**
   * The stored values that the row in process does not represent exactly: a JSON document that is
   * `null`, a moment in another format than the column's, bytes in a text column.
   */
  readonly inexact?: ReadonlyMap<ColumnInfo, SqlValue> | undefined;
}

/** Makes the row image for filters of a row that was decoded from these stored values. */
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
