import { DatabaseError } from "../db/database_error.ts";
import type { Driver } from "../db/driver.ts";
import type { Key } from "../plan/key.ts";
import type { Runtime } from "../runtime/runtime.ts";
import type { TableInfo } from "../schema/table_info.ts";
import { idsOf, type Indexer, type IndexErrorHandler, InlineIndexer } from "./indexer.ts";
import type { AppOutbox } from "./outbox/app_outbox.ts";
import { OpenIndex } from "./open_index.ts";
import type { SearchAdapter } from "./search_adapter.ts";
import type { SearchIndex } from "./search_index.ts";

export interface IndexingOptions {
  readonly autoIndex: boolean;
  readonly onIndexError: IndexErrorHandler | undefined;
  /** True to record changes in the app's outbox, if it has one, instead of indexing immediately. */
  readonly outbox: boolean;
}

/** The progress of {@link App.reindex}. */
export interface ReindexProgress {
  /** The name of the index. */
  readonly index: string;
  /** Number of rows that are indexed so far. */
  readonly done: number;
  /** Number of rows in the table. */
  readonly total: number;
  /** True if all rows of this index have been indexed. */
  readonly isDone: boolean;
}

/** The options of {@link App.reindex}. */
export interface ReindexOptions {
  /** Called after every few hundred rows, and after each index. */
  readonly onProgress?: ((progress: ReindexProgress) => void) | undefined;
}

export class SearchIndexes {
  readonly adapter: SearchAdapter | null;
  readonly outbox: AppOutbox | null;
  readonly #runtime: Runtime;
  readonly #open: OpenIndex[] = [];
  readonly #indexers = new Map<Driver, Map<TableInfo, Indexer[]>>();

  constructor(adapter: SearchAdapter | null, outbox: AppOutbox | null, runtime: Runtime) {
    this.adapter = adapter;
    this.outbox = outbox;
    this.#runtime = runtime;
  }

  open(index: SearchIndex, options: IndexingOptions): OpenIndex {
    const { adapter } = this;
    if (adapter === null) throw new Error("Cannot open a search index without a search adapter");
    const backend = adapter.openIndex(index, this.#runtime);
    const duplicate = this.#open.find((other) =>
      // Some engines have only lower-case names, so names must differ in more than case.
      other.index.name.toLowerCase() === index.name.toLowerCase() &&
      (backend.local === null || other.index.driver === index.driver)
    );
    if (duplicate !== undefined) {
      throw new Error(
        `Cannot serve "${index.table.label}": another resource has the search index "${index.name}" ` +
          "already: set search.indexName of one of them",
      );
    }
    const { autoIndex } = options;
    const open = new OpenIndex({
      index,
      backend,
      isFilledAtStart: autoIndex,
      runtime: this.#runtime,
    });
    this.#open.push(open);
    const indexer = this.#indexerOf(open, options);
    if (autoIndex) this.#listOf(index.driver, index.table).push(indexer);
    return open;
  }

  indexersOf(driver: Driver, table: TableInfo): readonly Indexer[] {
    return this.#listOf(driver, table);
  }

  /** Fills all indexes in the background, with retries. Rejects if an engine refuses its index. */
  async start(): Promise<void> {
    await Promise.all(this.#open.map(({ backend }) =>
      backend.validate?.().catch((error) => {
        // The service also starts if a database does not respond.
        if (!(error instanceof DatabaseError)) throw error;
      })
    ));
    for (const open of this.#open) open.start();
    this.outbox?.start();
  }

  async reindex({ onProgress = () => {} }: ReindexOptions = {}): Promise<void> {
    for (const open of this.#open) {
      const index = open.index.name;
      let last = { done: 0, total: 0 };
      await open.refill({
        onProgress(progress) {
          last = progress;
          onProgress({ index, ...progress, isDone: false });
        },
      });
      onProgress({ index, ...last, isDone: true });
    }
  }

  /** Resolves if the engine responds and every index is filled. Null without an adapter. */
  get check(): (() => Promise<void>) | null {
    const { adapter } = this;
    if (adapter === null) return null;
    return async () => {
      await adapter.check?.();
      await Promise.all(this.#open.map((open) => open.check()));
    };
  }

  async close(): Promise<void> {
    await this.outbox?.close();
    await Promise.all(this.#open.map((open) => open.close()));
    await this.adapter?.close();
  }

  #indexerOf(open: OpenIndex, options: IndexingOptions): Indexer {
    const { autoIndex, onIndexError, outbox } = options;
    const { name } = open.index;
    const report = this.#reporter(name, onIndexError);
    if (outbox && this.outbox !== null) {
      return this.outbox.add({ open, report, isSwept: autoIndex });
    }
    if (outbox) {
      const message = `search.outbox of the index "${name}" has no effect: no kv is configured`;
      this.#runtime.observe({ kind: "notice", message });
    }
    return new InlineIndexer(open, report);
  }

  #listOf(driver: Driver, table: TableInfo): Indexer[] {
    const byTable = this.#indexers.get(driver) ?? new Map<TableInfo, Indexer[]>();
    const list = byTable.get(table) ?? [];
    byTable.set(table, list);
    this.#indexers.set(driver, byTable);
    return list;
  }

  #reporter(index: string, handler: IndexErrorHandler | undefined) {
    const { observe } = this.#runtime;
    return async (error: unknown, keys: readonly Key[]) => {
      observe({ kind: "search_index_failed", index, rows: keys.length, error });
      try {
        await handler?.(error, { index, ids: idsOf(keys) });
      } catch (handlerError) {
        // The write is already committed, so an error of `onIndexError` must not fail it.
        observe({ kind: "search_index_failed", index, rows: keys.length, error: handlerError });
      }
    };
  }
}
