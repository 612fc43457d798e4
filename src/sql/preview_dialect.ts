import type { ColumnInfo } from "../schema/table_info.ts";
import type { Fragment, SqlValue } from "./fragment.ts";

/** Reads the beginnings of values. Lengths are in code points (of JSON, too), or in bytes. */
export interface PreviewDialect {
  /** Returns a column, truncated above `length`, so that {@link cut} recognizes longer values. */
  selected(column: ColumnInfo, length: number): Fragment;
  /** Returns a cell of {@link selected}, truncated to `length`, or null if it is not longer. */
  cut(cell: Exclude<SqlValue, null>, column: ColumnInfo, length: number): SqlValue;
}
