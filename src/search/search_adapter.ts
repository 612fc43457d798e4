import type { Connection } from "../db/driver.ts";
import { chunksOf, type Key, keyId } from "../plan/key.ts";
import type { MaybePromise } from "../runtime/maybe_promise.ts";
import type { Clock, Runtime } from "../runtime/runtime.ts";
import type { Fragment } from "../sql/fragment.ts";
import { documentWords, type SearchQuery } from "./search_query.ts";
import type { IndexDescription, SearchTexts } from "./search_index.ts";
import type { TableInfo } from "../schema/table_info.ts";

/**
 * The interface of every search engine, which finds the keys of rows by words. The service then
 * reads the found rows from their table, with the caller's rights and the request's filter. An
 * outdated index can miss rows or find rows by former words, but no response contains its data.
 */
export interface SearchAdapter {
  /** The engine's name in messages: `memory`, `sqlite`, `postgres` or `opensearch`. */
  readonly kind: string;
  /** The property names of the columns that the adapter can index, or null if it can index all. */
  readonly columns: ReadonlySet<string> | null;
  /** Returns the backend of an index, not connected yet. Throws an Error if it is unsupported. */
  openIndex(index: IndexDescription, runtime: Runtime): IndexBackend;
  /** Checks for `/readyz` that the engine responds. Null if the engine is the database itself. */
  readonly check: (() => Promise<void>) | null;
  /** Closes the connections that the adapter has opened. */
  close(): Promise<void>;
}

/** The change of one document in an index. */
export interface IndexChange {
  /** The key of the document's row. */
  readonly key: Key;
  /** The strings to index, one for each field; null to remove the document. */
  readonly texts: SearchTexts | null;
  /**
   * The version of the change, which `SearchVersions` created *before* the row was read. Of two
   * changes of a document, the one with the greater version wins, in whatever order they arrive.
   */
  readonly version: number;
}

/** One search index in an engine. */
export interface IndexBackend {
  /**
   * Creates the index, or its missing parts. `isFilled` is true if the index already contains the
   * table's rows, and false if it is new, had another format, or was lost when a process ended.
   */
  prepare(): Promise<{ readonly isFilled: boolean }>;
  /**
   * Rejects if the engine does not support the index, for example because of an unknown option. The
   * app then does not start. Called once, before {@link prepare}. Absent if no check is needed.
   */
  validate?(): Promise<void>;
  /**
   * Receives, once and before {@link prepare}, the function to call when the engine has lost the
   * index. The app then prepares and fills the index again. Until then, searches fail with 503.
   */
  onLost?(report: () => void): void;
  /** Checks for `/readyz` that the engine still has the index. Absent if no index can be lost. */
  check?(): Promise<void>;
  /** Records that all rows are indexed, so that the next {@link prepare} finds the index filled. */
  markFilled(): Promise<void>;
  /**
   * Writes changes, each with its version. A change is dropped without an error if the index has a
   * newer version of the document. Of two changes of one document in `changes`, the last one
   * counts. Rejects if any change may be missing; the caller then repeats all changes. With
   * `isAwaited`, a later search must find the changes.
   */
  write(changes: readonly IndexChange[], options: WriteOptions): Promise<void>;
  /**
   * Yields the keys of matching documents in pages, the best first. Searches only the documents
   * with keys in `within`, at most {@link maxSearchKeys}, or all documents if `within` is null. The
   * order of two documents must not depend on other documents. Absent if {@link local} exists.
   */
  find?(
    query: SearchQuery,
    within: readonly Key[] | null,
    signal: AbortSignal,
  ): AsyncIterable<readonly Key[]>;
  /** Returns at most `most` keys in index order, after the key `after` if it is not null. */
  keys(after: Key | null, most: number): Promise<readonly Key[]>;
  /** The functions of an index in the table's own database; null for an index outside of it. */
  readonly local: LocalIndex | null;
  /** Returns the words in a string that match the query, in order to highlight them. */
  readonly matchWords: WordMatcher;
}

/** The maximum number of keys among which an engine can search. */
export const maxSearchKeys = 10_000;

/** Options for writing changes to an index. */
export interface WriteOptions {
  /** True if a search immediately after the write must find the changes. */
  readonly isAwaited: boolean;
}

/** The functions of a search index that is in its table's own database. */
export interface LocalIndex {
  /** True if a failed statement ends the transaction, so that index writes need a savepoint. */
  readonly needsSavepoint: boolean;
  /** Writes changes in an open transaction of the table's database. */
  write(changes: readonly IndexChange[], connection: Connection): Promise<void>;
  /**
   * Returns a SELECT of the matching documents: the key columns as `_k0`, `_k1`, … and `_rank`,
   * lowest for the best match. `within` is a SELECT of the keys of the documents to search, or null
   * to search all documents. The SELECT must not examine documents that are not in `within`.
   */
  matches(query: SearchQuery, within: Fragment | null): Fragment;
}

/** Returns the words that match the query. */
export type WordMatcher = (
  words: readonly string[],
  query: SearchQuery,
) => MaybePromise<ReadonlySet<string>>;

/**
 * Creates increasing versions of index changes (between processes, if their clocks agree). A writer
 * creates a version before it reads the committed or locked row, so the greatest version has the
 * latest row. A sweep, which indexes all rows again, repairs errors.
 */
export class SearchVersions {
  readonly #clock: Clock;
  #last = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Returns the next version: microseconds since 1970, a number below 2^63. */
  next(): number {
    this.#last = Math.max(this.#last + 1, Math.floor(this.#clock.now() * 1_000));
    return this.#last;
  }

  /** Makes the next versions greater than `version`, which another process may have created. */
  raise(version: number): void {
    this.#last = Math.max(this.#last, version);
  }
}

/**
 * A search adapter in memory, for development and for small tables. It finds substrings of words,
 * scans every document at each search, and is filled at each start. Writes of other processes do
 * not change the index.
 *
 * @example
 * ```ts
 * import { createApp, integer, openDatabase, resource, table, text } from "@svc/resource-api";
 * import { memorySearch } from "@svc/resource-api/search";
 *
 * const notes = table("notes", { id: integer().primaryKey(), title: text().notNull() });
 * const db = await openDatabase("sqlite::memory:");
 * await db.createTables([notes]);
 * await db.sql`INSERT INTO ${notes} (${notes.id}, ${notes.title}) VALUES (${1}, ${"Buy tea"})`;
 * const app = await createApp({
 *   db,
 *   search: memorySearch(),
 *   resources: [resource(notes, { id: notes.id, auth: { public: { read: true } } })],
 * });
 * const response = await app.fetch(new Request("http://localhost/api/notes/search?q=tea"));
 * console.log(await response.json()); // { items: [ { id: 1, title: "Buy tea" } ], total: 1 }
 * await app.close();
 * ```
 */
export function memorySearch(): SearchAdapter {
  return {
    kind: "memory",
    columns: null,
    openIndex: (index) => new MemoryIndex(index),
    check: null,
    close: () => Promise.resolve(),
  };
}

interface Document {
  readonly key: Key;
  /** The words of each field, separated by spaces. */
  readonly texts: readonly string[];
  readonly version: number;
}

class MemoryIndex implements IndexBackend {
  readonly local = null;
  readonly #table: TableInfo;
  readonly #weights: readonly number[];
  readonly #documents = new Map<string, Document>();
  /** Versions of removed documents, oldest first. Changes with smaller versions are outdated. */
  readonly #removed = new Map<string, number>();
  #isFilled = false;

  constructor({ table, fields }: IndexDescription) {
    this.#table = table;
    this.#weights = fields.map(({ weight }) => weight);
  }

  prepare(): Promise<{ isFilled: boolean }> {
    return Promise.resolve({ isFilled: this.#isFilled });
  }

  markFilled(): Promise<void> {
    this.#isFilled = true;
    return Promise.resolve();
  }

  write(changes: readonly IndexChange[]): Promise<void> {
    for (const change of changes) this.#apply(change);
    return Promise.resolve();
  }

  async *find(
    { terms }: SearchQuery,
    within: readonly Key[] | null,
  ): AsyncGenerator<readonly Key[]> {
    const phrases = terms.map(({ words }) => words.join(" "));
    const found: { readonly key: Key; readonly score: number }[] = [];
    for (const { key, texts } of this.#among(within)) {
      const score = this.#score(texts, phrases);
      if (score > 0) found.push({ key, score });
    }
    // Sorts equal scores by id, so that no other document influences the order.
    const idOf = ({ key }: { readonly key: Key }) => keyId(key, this.#table);
    found.sort((left, right) => right.score - left.score || (idOf(left) < idOf(right) ? -1 : 1));
    yield* chunksOf(found.map(({ key }) => key), pageSize);
  }

  keys(after: Key | null, most: number): Promise<readonly Key[]> {
    const ids = [...this.#documents.keys()].sort();
    const from = after === null ? 0 : ids.findIndex((id) => id > keyId(after, this.#table));
    const page = from < 0 ? [] : ids.slice(from, from + most);
    return Promise.resolve(page.flatMap((id) => {
      const document = this.#documents.get(id);
      return document === undefined ? [] : [document.key];
    }));
  }

  matchWords(words: readonly string[], { terms }: SearchQuery): ReadonlySet<string> {
    const wanted = terms.flatMap((term) => term.words);
    return new Set(words.filter((word) => wanted.some((part) => word.includes(part))));
  }

  #among(within: readonly Key[] | null): Iterable<Document> {
    if (within === null) return this.#documents.values();
    return within.flatMap((key) => this.#documents.get(keyId(key, this.#table)) ?? []);
  }

  #apply({ key, texts, version }: IndexChange): void {
    const id = keyId(key, this.#table);
    const known = this.#documents.get(id)?.version ?? this.#removed.get(id) ?? 0;
    if (version < known) return;
    this.#removed.delete(id);
    this.#documents.delete(id);
    if (texts !== null) {
      this.#documents.set(id, { key, texts: documentWords(texts), version });
      return;
    }
    this.#removed.set(id, version);
    for (const [old, since] of this.#removed) {
      if (since > version - rememberedMicros) break;
      this.#removed.delete(old);
    }
  }

  #score(texts: readonly string[], phrases: readonly string[]): number {
    let score = 0;
    for (const phrase of phrases) {
      let found = 0;
      texts.forEach((text, field) => {
        found += countOf(phrase, text) * (this.#weights[field] ?? 1);
      });
      if (found === 0) return 0;
      score += found;
    }
    return score;
  }
}

const pageSize = 10_000;

/** How long a removed document's version is kept, because an outbox can retry older changes. */
const rememberedMicros = 15 * 60 * 1_000_000;

function countOf(part: string, text: string): number {
  let count = 0;
  for (let at = text.indexOf(part); at >= 0; at = text.indexOf(part, at + part.length)) count++;
  return count;
}
