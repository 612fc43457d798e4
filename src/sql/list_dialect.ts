import type { ColumnInfo } from "../schema/table_info.ts";
import type { Fragment } from "./fragment.ts";

/** Says whether a list must contain all items or at least one of them. */
export type Quantifier = "all" | "any";

export type DocumentItem = string | boolean | { readonly number: string };

/** The part of a dialect for items of lists (columns or JSON) and words of text search columns. */
export interface ListDialect {
  /**
   * Returns a condition that is true if the list contains the items: values of the column's element
   * type, or {@link DocumentItem}s for a JSON column. A document that is not a list never matches.
   */
  holds(column: ColumnInfo, items: readonly unknown[], quantifier: Quantifier): Fragment;
  /**
   * Returns a query for the words in a column. `values` are the query string and the optional name
   * of the text search configuration. `syntax` is that of web search engines, or that of `tsquery`.
   */
  query(column: ColumnInfo, values: readonly unknown[], syntax: "web" | "tsquery"): Fragment;
}
