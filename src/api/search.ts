import type { FilterInput, RequestOptions } from "./read_options.ts";

/** What a search looks for. */
export interface SearchInput extends RequestOptions {
  /** Words: a row has every one of them, and the last one at least as the beginning of a word. */
  readonly q: string;
  /** The rows that are searched; all unless set. */
  readonly filter?: FilterInput | undefined;
  /** The most rows of the page; 20 unless set. */
  readonly limit?: number | undefined;
  /** How many rows to skip. */
  readonly offset?: number | undefined;
  /** With `highlights`. */
  readonly highlight?: boolean | undefined;
}

/** The rows that a search has found, the best first. */
export interface SearchResult<Row> {
  /** The rows of this page. */
  readonly items: Row[];
  /** How many rows were found. */
  readonly total: number;
  /** HTML in which `<em>` marks the words, by the id of a row and the name of a field. */
  readonly highlights?: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>>;
}
