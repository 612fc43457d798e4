import type { ColumnInfo } from "../schema/table_info.ts";
import type { Fragment, SqlValue } from "./fragment.ts";

/**
 * The part of a dialect that reads the beginnings of strings, documents and bytes. Lengths are in
 * code points, or in bytes for bytes. A document is cut as its text in the database.
 */
export interface PreviewDialect {
  /**
   * Returns a column for a select list. A longer value is shortened to slightly more than `length`,
   * so that {@link cut} recognizes that the value is longer.
   */
  selected(column: ColumnInfo, length: number): Fragment;
  /** Returns a cell of {@link selected}, cut to `length`, or null if the value is not longer. */
  cut(cell: Exclude<SqlValue, null>, column: ColumnInfo, length: number): SqlValue;
}
