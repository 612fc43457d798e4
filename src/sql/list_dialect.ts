import type { ColumnInfo } from "../schema/table_info.ts";
import type { Fragment } from "./fragment.ts";

/** Says if a list must contain all items or one of them, in a {@link ListDialect}. */
export type Quantifier = "all" | "any";

/** An item of a list in a document that a {@link ListDialect} looks for; a number has all its digits. */
export type DocumentItem = string | boolean | { readonly number: string };

/** The part of a dialect for the items of lists: of columns of lists, and of documents. */
export interface ListDialect {
  /**
   * The list holds the items: values of the column's element, or {@link DocumentItem}s of a column of
   * documents, of which those that are no list hold nothing.
   */
  holds(column: ColumnInfo, items: readonly unknown[], quantifier: Quantifier): Fragment;
}
