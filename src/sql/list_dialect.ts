import type { ColumnInfo } from "../schema/table_info.ts";
import type { Fragment } from "./fragment.ts";

/** Determines whether a list must contain all items or one of them, in a {@link ListDialect}. */
export type Quantifier = "all" | "any";

/** An item to find in a list of a document. Numbers are strings with all their digits. */
export type DocumentItem = string | boolean | { readonly number: string };

/** The part of a dialect for the items of lists, in columns of lists and in documents. */
export interface ListDialect {
  /**
   * Returns a condition that the list contains the items: values of the column's element type, or
   * {@link DocumentItem}s of a column of documents. A document that is not a list contains nothing.
   */
  holds(column: ColumnInfo, items: readonly unknown[], quantifier: Quantifier): Fragment;
}
