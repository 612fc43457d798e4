/** An observation of search indexes. */
export type SearchObservation =
  | {
    readonly kind: "search_index_failed";
    readonly index: string;
    /** The number of rows that are missing or outdated in the index. */
    readonly rows: number;
    readonly error: unknown;
  }
  | {
    readonly kind: "search_index_unfilled";
    readonly index: string;
    readonly error: unknown;
    readonly retryInMs: number;
  };
