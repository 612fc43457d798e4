import { isDeepStrictEqual } from "node:util";
import { formatKey, type Key, parseKey } from "../../plan/key.ts";
import { bytesToHex } from "../../protocol/byte_text.ts";
import type { Observer, Random } from "../../runtime/runtime.ts";
import type { IndexBackend, IndexChange, WriteOptions } from "../search_adapter.ts";
import type { IndexDescription } from "../search_index.ts";
import { documentWords, type SearchQuery, wordsAsWritten } from "../search_query.ts";
import { fieldName, fieldQuery, wordsFieldMapping } from "./field_query.ts";
import {
  type BulkTarget,
  type IndexMetadata,
  isFromAllShards,
  isMissingIndex,
  member,
  readBulkOutcome,
  readHits,
  readIndexMetadata,
  readIndexUuid,
  requireAcknowledged,
  type SortValues,
} from "./open_search_answers.ts";
import type { OpenSearchClient, OpenSearchRequest } from "./open_search_client.ts";

/** A search index in OpenSearch. It stores the keys and words of documents, not their strings. */
export class OpenSearchIndex implements IndexBackend {
  readonly local = null;
  readonly matchWords = wordsAsWritten;
  readonly #index: IndexDescription;
  readonly #client: OpenSearchClient;
  readonly #random: Random;
  readonly #observe: Observer;
  readonly #name: string;
  /** The prepared index, to which the alias refers; null before it is prepared. */
  #current: Pick<IndexMetadata, "name" | "uuid"> | null = null;
  #reportLost = () => {};

  constructor(index: IndexDescription, parts: {
    readonly prefix: string;
    readonly client: OpenSearchClient;
    readonly random: Random;
    readonly observe: Observer;
  }) {
    const { prefix, client, random, observe } = parts;
    this.#index = index;
    this.#client = client;
    this.#random = random;
    this.#observe = observe;
    // OpenSearch allows only lower case in the names of indexes.
    this.#name = prefix + index.name.toLowerCase();
    if (!/^[a-z0-9][a-z0-9_.-]{0,200}$/.test(this.#name)) {
      throw new Error(
        `Cannot serve "${index.table.label}": OpenSearch takes no index "${this.#name}": set ` +
          "search.indexName to letters, digits, _ and -",
      );
    }
  }

  /** Creates or finds the index. Writes use an alias, because a write creates a missing index. */
  async prepare(): Promise<{ isFilled: boolean }> {
    for (;;) {
      const [known, ...others] = await this.#found();
      if (known === undefined) {
        await this.#create();
      } else if (others.length > 0 || known.name === this.#name || !this.#isCurrent(known)) {
        // Removes indexes of another format: they can contain words of columns that are hidden now.
        for (const { name } of others.length > 0 ? others : [known]) await this.#remove(name);
      } else {
        this.#current = known;
        return { isFilled: known.meta?.filled === known.uuid };
      }
    }
  }

  onLost(report: () => void): void {
    this.#reportLost = report;
  }

  async check(): Promise<void> {
    const [known, ...others] = await this.#found();
    if (this.#current === null) return;
    if (known?.name !== this.#current.name || others.length > 0) throw this.#lost();
    // Reads a key, because a closed index, or an index without shards, exists but is unreadable.
    await this.keys(null, 1);
  }

  async markFilled(): Promise<void> {
    const { name, uuid } = this.#currentIndex();
    const refreshed = await this.#ask(name, {
      ...{ method: "POST", path: "/_refresh", timeoutMs: slowMs },
    });
    if (!isFromAllShards(refreshed.body)) throw new Error("OpenSearch did not refresh an index");
    await this.#requireSame();
    const body = { _meta: this.#meta(uuid) };
    const noted = await this.#ask(name, {
      ...{ method: "PUT", path: "/_mapping", timeoutMs: slowMs, body },
    });
    requireAcknowledged(noted.body);
    await this.#removeOld();
  }

  async write(changes: readonly IndexChange[], { isAwaited }: WriteOptions): Promise<void> {
    const some: BulkLines[] = [];
    let size = 0;
    const flush = async () => {
      if (some.length > 0) await this.#bulk(some.splice(0), isAwaited);
      size = 0;
    };
    for (const change of changes) {
      const written = this.#bulkLines(change);
      some.push(written);
      size += Object.values(written.lines[1] ?? {}).join("").length;
      if (size > maxBulkCharacters || some.length >= maxBulkDocuments) await flush();
    }
    await flush();
  }

  async *find(
    query: SearchQuery,
    within: readonly Key[] | null,
    signal: AbortSignal,
  ): AsyncGenerator<readonly Key[]> {
    const sort = [{ _score: "desc" }, { [keyField]: "asc" }];
    const words = fieldQuery(query, this.#index.fields);
    const filter = within === null
      ? []
      : [{ terms: { [keyField]: within.map((key) => formatKey(key)) } }];
    const wanted = { bool: { must: [words], filter } };
    for (let after: SortValues | null = null;;) {
      const { hits, next } = await this.#page(wanted, sort, { after, size: pageSize, signal });
      yield hits;
      if (next === null) return;
      after = next;
    }
  }

  async keys(after: Key | null, most: number): Promise<readonly Key[]> {
    const begin = after === null ? null : [formatKey(after)];
    const page = await this.#page({ match_all: {} }, [{ [keyField]: "asc" }], {
      ...{ after: begin, size: most },
    });
    return page.hits;
  }

  get #shape(): string {
    const { table: { primaryKey }, fields } = this.#index;
    const keys = primaryKey.map(({ dbName }) => dbName);
    return JSON.stringify([shapeVersion, keys, fields.map(({ column }) => column.dbName)]);
  }

  #meta(filled: string | null): Record<string, unknown> {
    return { service: { shape: this.#shape, filled } };
  }

  #properties(): Record<string, unknown> {
    const fields = this.#index.fields.map((_field, at) => [fieldName(at), wordsFieldMapping]);
    return { [keyField]: { type: "keyword" }, ...Object.fromEntries(fields) };
  }

  #bulkLines({ key, texts, version }: IndexChange): BulkLines {
    const id = formatKey(key);
    const target = { _id: id, version, version_type: "external" };
    if (texts === null) return { operation: "delete", id, lines: [{ delete: target }] };
    const fields = documentWords(texts).map((words, position) => [fieldName(position), words]);
    const document = { [keyField]: id, ...Object.fromEntries(fields) };
    return { operation: "index", id, lines: [{ index: target }, document] };
  }

  async #bulk(some: readonly BulkLines[], isAwaited: boolean): Promise<void> {
    const { name } = this.#currentIndex();
    const { body, status } = await this.#ask(this.#name, {
      method: "POST",
      path: "/_bulk",
      query: { refresh: isAwaited ? "wait_for" : "false", require_alias: "true" },
      lines: some.flatMap(({ lines }) => lines),
      ...(isAwaited ? {} : { timeoutMs: slowMs }),
    });
    if (status === 404) throw this.#lost();
    const { failures, isLost } = readBulkOutcome(body, some, name);
    if (isLost) throw this.#lost();
    if (failures.length === 0) return;
    throw new Error(`OpenSearch did not take ${failures.length} documents: ${failures[0]}`);
  }

  async #page(
    query: Record<string, unknown>,
    sort: readonly Record<string, string>[],
    { after, size, signal }: {
      readonly after: SortValues | null;
      readonly size: number;
      readonly signal?: AbortSignal;
    },
  ): Promise<{ readonly hits: readonly Key[]; readonly next: SortValues | null }> {
    const { status, body } = await this.#ask(this.#currentIndex().name, {
      method: "POST",
      path: "/_search",
      body: {
        ...{ query, sort, size, _source: false, track_total_hits: false },
        ...(after === null ? {} : { search_after: after }),
      },
      ...(signal === undefined ? {} : { signal }),
    });
    if (status === 404) throw this.#lost();
    const hits = readHits(body);
    const last = hits.at(-1)?.sort ?? null;
    // A reader of all pages would never end.
    if (hits.length > size || last !== null && isDeepStrictEqual(last, after)) {
      throw new Error("OpenSearch answered with more hits than a page has, or with the same page");
    }
    // Checks, after the search, that the hits come from the index that was filled.
    await this.#requireSame(signal);
    const keys = hits.flatMap(({ id }) => {
      const key = parseKey(id, this.#index.table);
      return key === null ? [] : [key];
    });
    return { hits: keys, next: hits.length < size ? null : last };
  }

  /** Rejects if the prepared index is missing, or if another index now has its name. */
  async #requireSame(signal?: AbortSignal): Promise<void> {
    const { name, uuid } = this.#currentIndex();
    const { status, body } = await this.#ask(name, {
      ...{ method: "GET", path: "/_settings/index.uuid" },
      ...(signal === undefined ? {} : { signal }),
    });
    if (status === 404 || readIndexUuid(member(body, name)) !== uuid) throw this.#lost();
  }

  /** Removes the earlier indexes of this service that have no alias, if OpenSearch permits it. */
  async #removeOld(): Promise<void> {
    try {
      const { body } = await this.#ask(`${this.#name}~*`, {
        ...{ method: "GET", path: "", query: { expand_wildcards: "all" } },
      });
      for (const { name, aliases, meta } of readIndexMetadata(body)) {
        if (meta !== null && !aliases.includes(this.#name)) await this.#remove(name);
      }
    } catch (error) {
      this.#observe({ kind: "notice", message: `Cannot remove old indexes: ${error}` });
    }
  }

  /** Returns the indexes with this name or alias. Rejects if another program has created one. */
  async #found(): Promise<readonly IndexMetadata[]> {
    const { status, body } = await this.#ask(this.#name, { method: "GET", path: "" });
    if (status === 404 && isMissingIndex(body)) return [];
    const found = readIndexMetadata(body).toSorted((left, right) =>
      left.name < right.name ? -1 : 1
    );
    if (found.some((facts) => !this.#isOwn(facts))) {
      throw new Error(`The index "${this.#name}" is not that of a service: set search.indexName`);
    }
    return found;
  }

  /** Returns true for an index of this service. Old versions of the service wrote no `meta`. */
  #isOwn({ meta, fields }: IndexMetadata): boolean {
    return meta !== null || fields.includes(keyField) &&
        fields.every((field) => field === keyField || /^f[0-9]+$/.test(field));
  }

  #isCurrent({ meta, uuid }: IndexMetadata): boolean {
    const isCopy = typeof meta?.filled === "string" && meta.filled !== uuid;
    return meta?.shape === this.#shape && !isCopy;
  }

  async #create(): Promise<void> {
    const name = `${this.#name}~${bytesToHex(this.#random.bytes(8))}`;
    const { body } = await this.#ask(name, {
      method: "PUT",
      path: "",
      timeoutMs: slowMs,
      body: {
        aliases: { [this.#name]: {} },
        settings: { "index.refresh_interval": refreshInterval },
        mappings: { dynamic: false, _meta: this.#meta(null), properties: this.#properties() },
      },
    });
    requireAcknowledged(body);
  }

  async #remove(index: string): Promise<void> {
    const { status, body } = await this.#ask(index, {
      ...{ method: "DELETE", path: "", timeoutMs: slowMs },
    });
    // A 404 is no error: another process may have removed the index before.
    if (status !== 404) requireAcknowledged(body);
  }

  #currentIndex(): Pick<IndexMetadata, "name" | "uuid"> {
    if (this.#current === null) throw new Error(`The index "${this.#name}" is not prepared`);
    return this.#current;
  }

  #lost(): Error {
    this.#reportLost();
    return new Error(`The index "${this.#name}" is missing, or is another one than before`);
  }

  #ask(index: string, request: OpenSearchRequest) {
    return this.#client.request({ ...request, path: `/${index}${request.path}` });
  }
}

interface BulkLines extends BulkTarget {
  readonly lines: readonly Record<string, unknown>[];
}

/** The field that contains a document's id. OpenSearch can sort by this field, but not by ids. */
const keyField = "key";

/** The version of the format. An index of another format version is replaced. */
const shapeVersion = 3;

/** How long OpenSearch takes to make a write visible to searches. The write waits for this. */
const refreshInterval = "200ms";

const slowMs = 60_000;

/** Maximum number of hits in one response: OpenSearch's own limit. */
const pageSize = 10_000;

const maxBulkDocuments = 500;
const maxBulkCharacters = 4_000_000;
