import type { FilterInput, RequestOptions } from "./read_options.ts";

/** The input of a search. */
export interface SearchInput extends RequestOptions {
  /**
   * Words. A row matches if it contains every word. The last word may be the beginning of a word.
   */
  readonly q: string;
  /** The rows that are searched; all unless set. */
  readonly filter?: FilterInput | undefined;
  /** The largest number of rows of the page; 20 unless set. */
  readonly limit?: number | undefined;
  /** The number of rows to skip. */
  readonly offset?: number | undefined;
  /** True to return `highlights`. */
  readonly highlight?: boolean | undefined;
}

/** The rows that a search has found, the best first. */
export interface SearchResult<Row> {
  /** The rows of this page. */
  readonly items: Row[];
  /** The number of all rows that were found. */
  readonly total: number;
  /** HTML in which `<em>` marks the words, by the id of a row and the name of a field. */
  readonly highlights?: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>>;
}
