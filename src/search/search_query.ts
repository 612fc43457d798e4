/** One term of a search: a part of `q` between spaces that holds a word at least. */
export interface SearchTerm {
  /** As it was written, folded: what the memory adapter looks for. */
  readonly text: string;
  /** Its words, folded; they stand next to each other in what it finds. Never empty. */
  readonly words: readonly string[];
}

/** What a search looks for: documents that hold every term, the last word of it as a prefix. */
export interface SearchQuery {
  /** Never empty: without a usable term nothing is found, and no engine is asked. */
  readonly terms: readonly SearchTerm[];
}
