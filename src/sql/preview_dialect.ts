import type { ColumnInfo } from "../schema/table_info.ts";
import type { Fragment, SqlValue } from "./fragment.ts";

/** Reads beginnings of values. A length counts code points (of documents as text), or bytes. */
export interface PreviewDialect {
  /** Returns a column, cut slightly above `length`: {@link cut} thus recognizes a longer value. */
  selected(column: ColumnInfo, length: number): Fragment;
  /** Returns a cell of {@link selected}, truncated to `length`, or null if it is not longer. */
  cut(cell: Exclude<SqlValue, null>, column: ColumnInfo, length: number): SqlValue;
}
