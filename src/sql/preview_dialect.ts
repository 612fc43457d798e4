import type { ColumnInfo } from "../schema/table_info.ts";
import type { Fragment, SqlValue } from "./fragment.ts";

/**
 * The part of a dialect that reads the beginnings of strings, documents and bytes. A length counts
 * code points, or bytes of binary data. A document is truncated as its text in the database.
 */
export interface PreviewDialect {
  /**
   * Returns a column for a select list. The database truncates a longer value to slightly more than
   * `length`, so that {@link cut} can recognize it.
   */
  selected(column: ColumnInfo, length: number): Fragment;
  /** Returns a cell of {@link selected}, truncated to `length`, or null if it is not longer. */
  cut(cell: Exclude<SqlValue, null>, column: ColumnInfo, length: number): SqlValue;
}
