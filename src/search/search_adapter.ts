import type { Connection } from "../db/driver.ts";
import type { Key } from "../plan/key.ts";
import type { MaybePromise } from "../runtime/maybe_promise.ts";
import type { Runtime } from "../runtime/runtime.ts";
import type { Fragment } from "../sql/fragment.ts";
import type { SearchQuery } from "./search_query.ts";
import type { IndexDescription, SearchTexts } from "./search_index.ts";

/**
 * The interface of every search engine. It finds the keys of rows by words, and nothing that it
 * holds is ever answered: rows are read again from their table, under scope and filter. So an index
 * that lags, or holds rows that are gone, hides at most what it does not know yet.
 */
export interface SearchAdapter {
  /** For messages: `memory`, `sqlite`, `postgres`, `opensearch`. */
  readonly kind: string;
  /** The only columns that it indexes, by property name; null for all. */
  readonly columns: ReadonlySet<string> | null;
  /**
   * The engine's part of one index. Connects to nothing; throws a plain Error for an index that it
   * cannot have.
   */
  openIndex(index: IndexDescription, runtime: Runtime): IndexBackend;
  /** Resolves where the engine answers, for `/readyz`; null if the check of the database says that. */
  readonly check: (() => Promise<void>) | null;
  /** Closes what it opened itself. */
  close(): Promise<void>;
}

/** The change of one document in an index. */
export interface IndexChange {
  /** The key of its row. */
  readonly key: Key;
  /** Null removes the document, if there is one. */
  readonly texts: SearchTexts | null;
  /**
   * Drawn by `SearchVersions` *before* the row was read: of two changes of a document that
   * with the greater version holds for good, in whichever order they arrive.
   */
  readonly version: number;
}

/** An engine's part of one index. */
export interface IndexBackend {
  /**
   * Creates what is missing, and says whether the index holds the rows of its table already: not
   * where it is new, was made for other fields, or is lost with the process.
   */
  prepare(): Promise<{ readonly isFilled: boolean }>;
  /**
   * Rejects where the engine can never have the index, as with an option that it does not know: the
   * start fails then. Called once, before {@link prepare}; absent where there is nothing to ask.
   */
  validate?(): Promise<void>;
  /**
   * Called once, before {@link prepare}: `report` is called by an engine that has lost what that
   * has made. The index is prepared and filled again then, and searches are a 503 until it is.
   */
  onLost?(report: () => void): void;
  /** Resolves where the engine still has the index, for `/readyz`; absent where it cannot be lost. */
  check?(): Promise<void>;
  /** Notes that all rows were indexed, so that the next {@link prepare} finds it filled. */
  markFilled(): Promise<void>;
  /**
   * Writes the changes, each by its version; an older one is dropped without an error. A document
   * that stands twice in the list has its last state. Rejects where any of them may be missing:
   * the caller repeats all of them. `isAwaited` says that a search after it must find them.
   */
  write(changes: readonly IndexChange[], options: WriteOptions): Promise<void>;
  /**
   * The keys of the documents that match, page by page, the best first. `within` are the only
   * documents to look at, {@link maxWithin} at most; null for all. No other document may have an
   * influence on the order of two. Absent where {@link local} is there.
   */
  find?(
    query: SearchQuery,
    within: readonly Key[] | null,
    signal: AbortSignal,
  ): AsyncIterable<readonly Key[]>;
  /** The keys after another one, in an order of its own, for repairs; null gives the first ones. */
  keys(after: Key | null, most: number): Promise<readonly Key[]>;
  /** Where the index is in the database of its table; null if it is elsewhere. */
  readonly local: LocalIndex | null;
  /** Which words of a found text the query matches, for highlights. */
  readonly matchWords: WordMatcher;
}

/** The most documents that a search is limited to by their keys. */
export const maxWithin = 10_000;

/** How changes are written to an index. */
export interface WriteOptions {
  /** True if a search that follows must find them. */
  readonly isAwaited: boolean;
}

/** The part of an index backend for an index that is in the database of its table. */
export interface LocalIndex {
  /**
   * True if a statement that fails ends the transaction, so that the changes need a savepoint; else
   * it is rolled back alone, and what came before it is tried again or reported with it.
   */
  readonly needsSavepoint: boolean;
  /** Writes the changes in an open transaction of that database. */
  write(changes: readonly IndexChange[], connection: Connection): Promise<void>;
  /**
   * A SELECT of the documents that match: the key columns as `_k0`, `_k1`, … and `_rank`, the least
   * first. `within` is a SELECT of the keys, by the same names, of the only documents to look at: the
   * others cost no time. Null for all.
   */
  matches(query: SearchQuery, within: Fragment | null): Fragment;
}

/** Returns those of some words that a query finds. */
export type WordMatcher = (
  words: readonly string[],
  query: SearchQuery,
) => MaybePromise<ReadonlySet<string>>;
