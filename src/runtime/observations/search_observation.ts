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

const kinds: ReadonlySet<string> = new Set<SearchObservation["kind"]>([
  "search_index_failed",
  "search_index_unfilled",
]);

/** Returns true if an observation is about search indexes. */
export function isAboutSearch(
  observation: { readonly kind: string },
): observation is SearchObservation {
  return kinds.has(observation.kind);
}

/** Describes an observation about search indexes in one line. */
export function describeSearchObservation(observation: SearchObservation): string {
  const { index } = observation;
  switch (observation.kind) {
    case "search_index_failed":
      return `the search index ${index} did not take the changes of ${observation.rows} rows`;
    case "search_index_unfilled":
      return `the search index ${index} could not be filled, and is tried again in ${observation.retryInMs} ms`;
  }
}
