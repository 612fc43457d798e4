import type { Connection } from "../db/driver.ts";
import type { Key } from "../plan/key.ts";
import type { Row } from "../schema/table_info.ts";
import type { MaybePromise } from "../runtime/maybe_promise.ts";

/**
 * Keeps one index up to date with the writes of the service. The indexer receives only keys and
 * reads the rows itself, so the caller's rows may be outdated. Failures of the indexer never fail a
 * write, because no function throws or rejects. One indexer serves all writes of a table
 * concurrently.
 */
export interface Indexer {
  /** True if {@link beforeCommit} needs a transaction, even for a write of one statement. */
  readonly joinsTransaction: boolean;
  /**
   * Called in the transaction of a write, after all rows are written and all hooks have run, right
   * before the commit. Returns the functions to call after the end of the transaction. If the
   * transaction is retried, it is called for each attempt. `rows` are the rows of the keys in the
   * state that will be committed, or null if the rows must be read.
   */
  beforeCommit(
    keys: readonly Key[],
    connection: Connection,
    rows: readonly Row[] | null,
  ): MaybePromise<PendingIndexing>;
}

/** The functions of an indexer that are called after the transaction of a write. */
export interface PendingIndexing {
  /** Called after the commit. The response to the write waits for the result. */
  committed(): MaybePromise<void>;
  /**
   * Called if the transaction did not commit. `isCertain` is false if the connection was lost
   * during the commit, which then may have succeeded.
   */
  failed(isCertain: boolean): MaybePromise<void>;
}
