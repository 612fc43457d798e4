import type { Connection } from "../db/driver.ts";
import type { Key } from "../plan/key.ts";
import type { Row } from "../schema/table_info.ts";
import type { MaybePromise } from "../runtime/maybe_promise.ts";

/**
 * Updates one index after the service's writes. The indexer receives keys and reads the rows
 * itself, so its caller need not know their latest state. No function throws or rejects, so that a
 * failing index never fails a write. One indexer serves all concurrent writes of a table.
 */
export interface Indexer {
  /** True if {@link beforeCommit} needs a transaction, even for a write by a single statement. */
  readonly joinsTransaction: boolean;
  /**
   * Called in the transaction of a write, immediately before its commit: all rows are written and
   * all hooks have run. Called for each attempt if the transaction is retried. Returns functions to
   * call after the transaction. `rows` are the rows of the keys as they will be committed; null if
   * the indexer must read them.
   */
  beforeCommit(
    keys: readonly Key[],
    connection: Connection,
    rows: readonly Row[] | null,
  ): MaybePromise<PendingIndexing>;
}

/** The functions to call after the transaction of a write. */
export interface PendingIndexing {
  /** Called after the commit. The response of the write waits for the result. */
  committed(): MaybePromise<void>;
  /**
   * Called if the transaction did not commit. `isCertain` is false if the connection broke during
   * the commit, so that the transaction may have committed.
   */
  failed(isCertain: boolean): MaybePromise<void>;
}
