import { chunksOf, type Key, keyId } from "../plan/key.ts";
import type { TableInfo } from "../schema/table_info.ts";
import type { IndexBackend, IndexChange, SearchAdapter } from "./search_adapter.ts";
import type { IndexDescription } from "./search_index.ts";
import { documentWords, type SearchQuery } from "./search_query.ts";

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
  /** The versions of removed documents, oldest first. They show that a late change is outdated. */
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
    // Documents with equal scores are sorted by id: no other document influences their order.
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

  /** Returns the weighted number of matches in the fields, or 0 if any term has no match. */
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

/** How long removed documents are remembered, because an outbox can still retry old changes. */
const rememberedMicros = 15 * 60 * 1_000_000;

function countOf(part: string, text: string): number {
  let count = 0;
  for (let at = text.indexOf(part); at >= 0; at = text.indexOf(part, at + part.length)) count++;
  return count;
}
