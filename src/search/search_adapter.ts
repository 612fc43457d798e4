import type { Connection } from "../db/driver.ts";
import type { Key } from "../plan/key.ts";
import type { MaybePromise } from "../runtime/maybe_promise.ts";
import type { Runtime } from "../runtime/runtime.ts";
import type { Fragment } from "../sql/fragment.ts";
import type { SearchQuery } from "./search_query.ts";
import type { IndexDescription, SearchTexts } from "./search_index.ts";

/**
 * The interface of every search engine. A search engine finds the keys of rows by words. The
 * content of an index is never returned, because rows are read again from their table, with scope
 * and filter. Therefore an outdated index can only cause missing results.
 */
export interface SearchAdapter {
  /** Name of the engine in messages: `memory`, `sqlite`, `postgres` or `opensearch`. */
  readonly kind: string;
  /** The property names of the columns that the adapter can index, or null for all columns. */
  readonly columns: ReadonlySet<string> | null;
  /**
   * Returns the engine's implementation of one index, without connecting. Throws a plain Error for
   * an index that the engine does not support.
   */
  openIndex(index: IndexDescription, runtime: Runtime): IndexBackend;
  /** Resolves if the engine responds, for `/readyz`. Null if the check of the database suffices. */
  readonly check: (() => Promise<void>) | null;
  /** Closes the connections that the adapter has opened. */
  close(): Promise<void>;
}

/** The change of one document in an index. */
export interface IndexChange {
  /** The key of the document's row. */
  readonly key: Key;
  /** The strings to index, or null to remove the document. */
  readonly texts: SearchTexts | null;
  /**
   * The version, drawn by `SearchVersions` *before* the row was read. Of two changes of a document,
   * the one with the greater version wins, in whichever order they arrive.
   */
  readonly version: number;
}

/** The implementation of one search index by an engine. */
export interface IndexBackend {
  /**
   * Creates the index, or its missing parts. Returns true if the index already contains the rows of
   * its table. Returns false if the index is new, has another format, or was lost with the process.
   */
  prepare(): Promise<{ readonly isFilled: boolean }>;
  /**
   * Rejects if the engine cannot support the index, for example because of an unknown option. Then
   * the app does not start. The function is called once, before {@link prepare}. Absent if there is
   * nothing to check.
   */
  validate?(): Promise<void>;
  /**
   * Called once, before {@link prepare}. The engine calls `report` if it has lost the index that
   * {@link prepare} created. The index is then prepared and filled again. Until then, searches fail
   * with 503.
   */
  onLost?(report: () => void): void;
  /** Resolves if the engine still has the index, for `/readyz`. Absent if no index can be lost. */
  check?(): Promise<void>;
  /** Records that all rows were indexed. The next {@link prepare} then finds the index filled. */
  markFilled(): Promise<void>;
  /**
   * Writes the changes, each with its version. If the index has a newer version of the document, a
   * change is dropped without an error. Of two changes of a document, the last one counts. Rejects
   * if any change may be missing. The caller then repeats all changes. With `isAwaited`, a search
   * after the write must find the changes.
   */
  write(changes: readonly IndexChange[], options: WriteOptions): Promise<void>;
  /**
   * Yields the keys of the matching documents, page by page, the best first. Only the documents in
   * `within` are searched, at most {@link maxSearchKeys}, or all documents for null. The order of
   * two documents must not depend on other documents. Absent if {@link local} exists.
   */
  find?(
    query: SearchQuery,
    within: readonly Key[] | null,
    signal: AbortSignal,
  ): AsyncIterable<readonly Key[]>;
  /** Returns at most `most` keys in their order in the index, after the key `after` if given. */
  keys(after: Key | null, most: number): Promise<readonly Key[]>;
  /** The functions of an index in the table's own database, or null for an index elsewhere. */
  readonly local: LocalIndex | null;
  /** Returns the words in a found string that match the query, for highlights. */
  readonly matchWords: WordMatcher;
}

/** Maximum number of keys to which an engine can limit a search. */
export const maxSearchKeys = 10_000;

/** Options of writing changes to an index. */
export interface WriteOptions {
  /** True if a search after the write must find the changes. */
  readonly isAwaited: boolean;
}

/** The functions of a search index that is in the database of its table. */
export interface LocalIndex {
  /**
   * True if a failing statement ends the transaction, so the changes need a savepoint. Otherwise
   * the engine rolls back only the failing statement.
   */
  readonly needsSavepoint: boolean;
  /** Writes changes in an open transaction of the table's database. */
  write(changes: readonly IndexChange[], connection: Connection): Promise<void>;
  /**
   * Returns a SELECT of the matching documents: the key columns as `_k0`, `_k1`, … and `_rank`,
   * lowest for the best document. `within` is a SELECT with the same key columns, which limits the
   * search to its documents. Other documents must cost no time. Null searches all documents.
   */
  matches(query: SearchQuery, within: Fragment | null): Fragment;
}

/** A function that returns the words of a string which a query finds. */
export type WordMatcher = (
  words: readonly string[],
  query: SearchQuery,
) => MaybePromise<ReadonlySet<string>>;
