import type { FilterInput } from "./checked_text.ts";
import type { RequestOptions } from "./read_options.ts";

/** The input of a search. */
export interface SearchInput<Filter = FilterInput> extends RequestOptions {
  /** The words to find. A row must contain every word. The last word also matches as a prefix. */
  readonly q: string;
  /** The filter of the rows to search. Default: all rows. */
  readonly filter?: Filter | undefined;
  /** The maximum number of rows in a page. Default: 20. */
  readonly limit?: number | undefined;
  /** The number of rows to skip. */
  readonly offset?: number | undefined;
  /** True to return `highlights`: the matching fields as HTML in which the words are marked. */
  readonly highlight?: boolean | undefined;
}

/** The rows that a search has found. The best match is first. */
export interface SearchResult<Row> {
  /** The rows of this page. */
  readonly items: Row[];
  /** The number of all rows that were found. */
  readonly total: number;
  /** Parts of matching fields as HTML, with `<em>` around the words, by row id and field name. */
  readonly highlights?: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>>;
}
