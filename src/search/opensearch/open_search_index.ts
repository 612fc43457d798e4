import { formatKey, type Key, parseKey } from "../../plan/key.ts";
import type { IndexBackend, IndexChange, WriteOptions } from "../search_adapter.ts";
import type { IndexDescription } from "../search_index.ts";
import { type SearchQuery, wordsAsWritten } from "../search_query.ts";
import { documentWords } from "../words.ts";
import { fieldName, fieldQuery } from "./field_query.ts";
import { bulkFailures, hitsOf, metaOf, type Sort } from "./open_search_answers.ts";
import type {
  OpenSearchAnswer,
  OpenSearchClient,
  OpenSearchRequest,
} from "./open_search_client.ts";

/** An index of OpenSearch. It stores the words of documents and their keys, not their texts. */
export class OpenSearchIndex implements IndexBackend {
  readonly local = null;
  readonly matchWords = wordsAsWritten;
  readonly #index: IndexDescription;
  readonly #client: OpenSearchClient;
  readonly #name: string;

  /** Throws a plain Error for a name that no index can have. */
  constructor(index: IndexDescription, prefix: string, client: OpenSearchClient) {
    this.#index = index;
    this.#client = client;
    // The server takes no upper case.
    this.#name = prefix + index.name.toLowerCase();
    if (!/^[a-z0-9][a-z0-9_.-]{0,200}$/.test(this.#name)) {
      throw new Error(
        `Cannot serve "${index.table.label}": OpenSearch takes no index "${this.#name}": set ` +
          "search.indexName to letters, digits, _ and -",
      );
    }
  }

  async prepare(): Promise<{ isFilled: boolean }> {
    const found = await this.#request({ method: "GET", path: "/_mapping" });
    if (found.status !== 404) {
      const meta = metaOf(found.body, this.#name);
      if (meta === null) {
        throw new Error(`The index "${this.#name}" is not that of a service: set search.indexName`);
      }
      if (meta.shape === this.#shape) return { isFilled: meta.isFilled };
      // Its fields may hold words of columns that are hidden now.
      await this.#request({ method: "DELETE", path: "", timeoutMs: slowMs });
    }
    await this.#request({
      method: "PUT",
      path: "",
      timeoutMs: slowMs,
      body: {
        settings: { "index.refresh_interval": refreshInterval },
        mappings: { dynamic: false, _meta: this.#meta(false), properties: this.#properties() },
      },
    });
    return { isFilled: false };
  }

  async markFilled(): Promise<void> {
    await this.#request({ method: "POST", path: "/_refresh", timeoutMs: slowMs });
    const body = { _meta: this.#meta(true) };
    await this.#request({ method: "PUT", path: "/_mapping", timeoutMs: slowMs, body });
  }

  async write(changes: readonly IndexChange[], { isAwaited }: WriteOptions): Promise<void> {
    const lines: Record<string, unknown>[] = [];
    let size = 0;
    const flush = async () => {
      if (lines.length > 0) await this.#bulk(lines.splice(0), isAwaited);
      size = 0;
    };
    for (const change of changes) {
      const document = this.#document(change);
      lines.push(...this.#linesOf(change, document));
      size += document === null ? 0 : Object.values(document).join("").length;
      if (size > maxBulkCharacters || lines.length >= maxBulkLines) await flush();
    }
    await flush();
  }

  async find(query: SearchQuery, most: number, signal: AbortSignal): Promise<readonly Key[]> {
    const keys: Key[] = [];
    const sort = [{ _score: "desc" }, { [keyField]: "asc" }];
    for (let after: Sort | null = null; keys.length < most;) {
      const { hits, next } = await this.#page(fieldQuery(query, this.#index.fields), sort, {
        ...{ after, size: Math.min(pageSize, most - keys.length), signal },
      });
      keys.push(...hits);
      if (next === null) break;
      after = next;
    }
    return keys;
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

  #meta(isFilled: boolean): Record<string, unknown> {
    return { service: { shape: this.#shape, isFilled } };
  }

  #properties(): Record<string, unknown> {
    const words = { type: "text", analyzer: "whitespace" };
    const fields = this.#index.fields.map((_field, position) => [fieldName(position), words]);
    return { [keyField]: { type: "keyword" }, ...Object.fromEntries(fields) };
  }

  #document({ key, texts }: IndexChange): Record<string, string> | null {
    if (texts === null) return null;
    const fields = documentWords(texts).map((words, position) => [fieldName(position), words]);
    return { [keyField]: formatKey(key), ...Object.fromEntries(fields) };
  }

  #linesOf(
    { key, version }: IndexChange,
    document: Record<string, string> | null,
  ): readonly Record<string, unknown>[] {
    const target = { _id: formatKey(key), version, version_type: "external" };
    return document === null ? [{ delete: target }] : [{ index: target }, document];
  }

  async #bulk(lines: readonly Record<string, unknown>[], isAwaited: boolean): Promise<void> {
    const { body } = await this.#request({
      method: "POST",
      path: "/_bulk",
      query: { refresh: isAwaited ? "wait_for" : "false" },
      lines,
      ...(isAwaited ? {} : { timeoutMs: slowMs }),
    });
    const failures = bulkFailures(body);
    if (failures.length === 0) return;
    throw new Error(`OpenSearch did not take ${failures.length} documents: ${failures[0]}`);
  }

  async #page(
    query: Record<string, unknown>,
    sort: readonly Record<string, string>[],
    { after, size, signal }: PageOptions,
  ): Promise<{ readonly hits: readonly Key[]; readonly next: Sort | null }> {
    const { status, body } = await this.#request({
      method: "POST",
      path: "/_search",
      body: {
        ...{ query, sort, size, _source: false, track_total_hits: false },
        ...(after === null ? {} : { search_after: after }),
      },
      ...(signal === undefined ? {} : { signal }),
    });
    if (status === 404) return { hits: [], next: null };
    const hits = hitsOf(body);
    const keys = hits.flatMap(({ id }) => {
      const key = parseKey(id, this.#index.table);
      return key === null ? [] : [key];
    });
    return { hits: keys, next: hits.length < size ? null : hits.at(-1)?.sort ?? null };
  }

  #request(request: OpenSearchRequest): Promise<OpenSearchAnswer> {
    return this.#client.request({ ...request, path: `/${this.#name}${request.path}` });
  }
}

interface PageOptions {
  readonly after: Sort | null;
  readonly size: number;
  readonly signal?: AbortSignal;
}

/** The document's own id, which the server does not sort by. */
const keyField = "key";

/** Counts the ways in which texts become words: an index that was made in another one is made again. */
const shapeVersion = 1;

/** A write waits until a search finds it, so that this is about its time. */
const refreshInterval = "200ms";

/** For what is not done within a request. */
const slowMs = 60_000;

/** The most hits of one answer, by the server's own limit. */
const pageSize = 10_000;

const maxBulkLines = 1_000;
const maxBulkCharacters = 4_000_000;
