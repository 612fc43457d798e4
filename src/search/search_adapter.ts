import type { Connection } from "../db/driver.ts";
import type { Key } from "../plan/key.ts";
import type { MaybePromise } from "../runtime/maybe_promise.ts";
import type { Runtime } from "../runtime/runtime.ts";
import type { Fragment } from "../sql/fragment.ts";
import type { SearchQuery } from "./search_query.ts";
import type { IndexDescription, SearchTexts } from "./search_index.ts";

/**
 * The interface of every search engine. It finds the keys of rows by words. Its content is never
 * returned: rows are read again from their table, under scope and filter. Therefore an index that
 * lags, or contains missing rows, can only lack recent rows.
 */
export interface SearchAdapter {
  /** The name for messages: `memory`, `sqlite`, `postgres`, `opensearch`. */
  readonly kind: string;
  /** The only columns that it indexes, by property name, or null for all. */
  readonly columns: ReadonlySet<string> | null;
  /**
   * Returns the engine's part of one index, without connecting. Throws a plain Error for an index
   * that it cannot have.
   */
  openIndex(index: IndexDescription, runtime: Runtime): IndexBackend;
  /** Resolves if the engine responds, for `/readyz`. Null if the database's check covers it. */
  readonly check: (() => Promise<void>) | null;
  /** Closes what it has opened itself. */
  close(): Promise<void>;
}

/** The change of one document in an index. */
export interface IndexChange {
  /** The key of the document's row. */
  readonly key: Key;
  /** The strings, or null to remove the document if there is one. */
  readonly texts: SearchTexts | null;
  /**
   * The version, drawn by `SearchVersions` *before* the row was read. Of two changes of a document,
   * the one with the greater version wins, in whichever order they arrive.
   */
  readonly version: number;
}

/** An engine's part of one index. */
export interface IndexBackend {
  /**
   * Creates what is missing. Returns true if the index already contains the rows of its table: not
   * if it is new, of another format, or was lost with the process.
   */
  prepare(): Promise<{ readonly isFilled: boolean }>;
  /**
   * Rejects if the engine can never have the index, for example because of an unknown option. Then
   * the start fails. It is called once, before {@link prepare}. Absent if there is nothing to
   * check.
   */
  validate?(): Promise<void>;
  /**
   * Called once, before {@link prepare}. The engine calls `report` if it has lost what that
   * created. The index is then prepared and filled again, and searches are a 503 until it is.
   */
  onLost?(report: () => void): void;
  /** Resolves if the engine still has the index, for `/readyz`. Absent if it cannot be lost. */
  check?(): Promise<void>;
  /** Records that all rows were indexed, so that the next {@link prepare} finds it filled. */
  markFilled(): Promise<void>;
  /**
   * Writes the changes, each with its version. Older ones are dropped without an error. If a
   * document is in the list twice, its last state counts. Rejects if any change may be missing: the
   * caller repeats all of them. With `isAwaited`, a search after it must find them.
   */
  write(changes: readonly IndexChange[], options: WriteOptions): Promise<void>;
  /**
   * Yields the keys of the matching documents, page by page, the best first. `within` are the only
   * documents to search, at most {@link maxWithin}, or null for all. No other document may
   * influence the order of two. Absent if {@link local} exists.
   */
  find?(
    query: SearchQuery,
    within: readonly Key[] | null,
    signal: AbortSignal,
  ): AsyncIterable<readonly Key[]>;
  /** Returns the keys after another one, in the index's order, or the first ones for null. */
  keys(after: Key | null, most: number): Promise<readonly Key[]>;
  /** The part of an index in the database of its table, or null if it is elsewhere. */
  readonly local: LocalIndex | null;
  /** Returns the words of a found string that the query matches, for highlights. */
  readonly matchWords: WordMatcher;
}

/** The maximum number of documents to which a search is limited by their keys. */
export const maxWithin = 10_000;

/** Options of writing changes to an index. */
export interface WriteOptions {
  /** True if a following search must find the changes. */
  readonly isAwaited: boolean;
}

/** The part of an index backend for an index that is in the database of its table. */
export interface LocalIndex {
  /**
   * True if a failing statement ends the transaction, so the changes need a savepoint. Otherwise
   * only the statement is rolled back, and the previous changes are retried or reported with it.
   */
  readonly needsSavepoint: boolean;
  /** Writes the changes in an open transaction of that database. */
  write(changes: readonly IndexChange[], connection: Connection): Promise<void>;
  /**
   * Returns a SELECT of the matching documents: the key columns as `_k0`, `_k1`, … and `_rank`, the
   * best with the lowest. `within` is a SELECT of the keys, by these names, of the only documents
   * to search: others cost no time. Null searches all.
   */
  matches(query: SearchQuery, within: Fragment | null): Fragment;
}

/** Returns the words that a query finds. */
export type WordMatcher = (
  words: readonly string[],
  query: SearchQuery,
) => MaybePromise<ReadonlySet<string>>;
