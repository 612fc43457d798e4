import type { Connection } from "../db/driver.ts";
import { formatKey, type Key } from "../plan/key.ts";
import type { Row } from "../schema/table_info.ts";
import type { MaybePromise } from "../runtime/maybe_promise.ts";
import { runInSavepoint } from "../db/database_handle.ts";
import { indexChangesInTransaction, indexRows } from "./index_rows.ts";
import type { LocalIndex } from "./search_adapter.ts";
import type { OpenIndex } from "./open_index.ts";

/** Receives the keys of written rows. Never throws: a failing index must not fail a write. */
export interface Indexer {
  /** True if {@link beforeCommit} needs a transaction, even for a write by a single statement. */
  readonly joinsTransaction: boolean;
  /** Called before each commit, to index `rows`. Returns the functions to call after the commit. */
  beforeCommit(
    keys: readonly Key[],
    connection: Connection,
    rows: readonly Row[] | null,
  ): MaybePromise<PendingIndexing>;
}

export interface PendingIndexing {
  /** Called after the commit. The response of the write waits for the result. */
  committed(): MaybePromise<void>;
  /** Called if no commit was confirmed. `isCertain` is false if the commit may have happened. */
  failed(isCertain: boolean): MaybePromise<void>;
}

/** The rows that were not indexed, for `onIndexError`. */
export interface FailedIndexing {
  /** The name of the index. */
  readonly index: string;
  /** The ids of the rows, as in their URLs. */
  readonly ids: readonly string[];
}

/** Receives an indexing error and the affected rows. The write of these rows has succeeded. */
export type IndexErrorHandler = (error: unknown, failed: FailedIndexing) => MaybePromise<void>;

export type ReportFailure = (error: unknown, keys: readonly Key[]) => Promise<void>;

/**
 * Indexes rows during their write. A write to an index in the table's own database shares the
 * transaction, but cannot make it fail. Any other index is written after the commit and before the
 * response. A failed change is retried once after the commit, then reported and dropped.
 */
export class InlineIndexer implements Indexer {
  readonly joinsTransaction: boolean;
  readonly #open: OpenIndex;
  readonly #report: ReportFailure;

  constructor(open: OpenIndex, report: ReportFailure) {
    this.#open = open;
    this.#report = report;
    this.joinsTransaction = open.backend.local !== null;
  }

  beforeCommit(
    keys: readonly Key[],
    connection: Connection,
    rows: readonly Row[] | null,
  ): MaybePromise<PendingIndexing> {
    const { backend: { local }, isPrepared } = this.#open;
    // An index that is not created yet is written after the commit: filling it may read old rows.
    return local === null || !isPrepared
      ? this.#afterwards(keys, 2)
      : this.#within(keys, rows, local, connection);
  }

  async #within(
    keys: readonly Key[],
    rows: readonly Row[] | null,
    local: LocalIndex,
    connection: Connection,
  ): Promise<PendingIndexing> {
    try {
      const write = async () =>
        await local.write(
          await indexChangesInTransaction(this.#open, keys, connection, rows),
          connection,
        );
      if (local.needsSavepoint) await runInSavepoint(connection, "service_search", write);
      else await write();
      return nothingLeft;
    } catch {
      // A failing index must not fail the write. The indexing is tried once more after the commit.
      return this.#afterwards(keys, 1);
    }
  }

  #afterwards(keys: readonly Key[], tries: number): PendingIndexing {
    return { committed: () => this.#index(keys, tries), failed() {} };
  }

  async #index(keys: readonly Key[], tries: number): Promise<void> {
    try {
      await this.#open.prepared();
      await indexRows(this.#open, keys, { isAwaited: true });
    } catch (error) {
      if (tries > 1) await this.#index(keys, tries - 1);
      else await this.#report(error, keys);
    }
  }
}

const nothingLeft: PendingIndexing = Object.freeze({ committed() {}, failed() {} });

export function idsOf(keys: readonly Key[]): readonly string[] {
  return keys.map((key) => formatKey(key));
}
