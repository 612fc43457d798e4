import type { Connection } from "../db/driver.ts";
import type { Key } from "../plan/key.ts";
import type { Row } from "../schema/table_info.ts";
import type { MaybePromise } from "../runtime/maybe_promise.ts";

/**
 * What keeps one index up to date with the writes of the service. Keys are all that it is given: it
 * reads the rows itself, so that it does not matter what became of them. Nothing that fails in it
 * fails a write: no function throws or rejects. One indexer serves all writes of a table, at once.
 */
export interface Indexer {
  /** True if writes of one statement need a transaction, for {@link beforeCommit}. */
  readonly joinsTransaction: boolean;
  /**
   * In the transaction of a write, once all rows are written and all hooks have run, right before
   * the commit. Gives what is to be called once the transaction has ended. Again for each try where the
   * database makes a transaction be tried again. `rows` are those of the keys, where they are known
   * to be as they will be committed; null if they must be read.
   */
  beforeCommit(
    keys: readonly Key[],
    connection: Connection,
    rows: readonly Row[] | null,
  ): MaybePromise<PendingIndexing>;
}

/** What an indexer still does for the rows of one transaction, once that has ended. */
export interface PendingIndexing {
  /** The rows are committed. The answer to the write waits for it. */
  committed(): MaybePromise<void>;
  /**
   * The rows are not committed; `isCertain` is false where the connection was lost during the
   * commit, so that they may be.
   */
  failed(isCertain: boolean): MaybePromise<void>;
}
