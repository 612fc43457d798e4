import type { ColumnInfo } from "../schema/table_info.ts";
import type { Fragment, SqlValue } from "./fragment.ts";

/**
 * The part of a dialect that reads the beginnings of strings, documents and bytes. Lengths are
 * characters, which are code points, and bytes of bytes. A document is cut as the text that the
 * database has of it.
 */
export interface PreviewDialect {
  /** A column in a select list, short, but still longer than `length` where the value is. */
  selected(column: ColumnInfo, length: number): Fragment;
  /** A cell that was so selected, cut to `length`; null if the value is not longer. */
  cut(cell: Exclude<SqlValue, null>, column: ColumnInfo, length: number): SqlValue;
}
