import { DatabaseError } from "../../db/database_error.ts";
import type { Connection, QueryResult } from "../../db/driver.ts";
import { transact, type TransactOptions } from "../../db/transact.ts";
import type { Key } from "../../plan/key.ts";
import type { MaybePromise } from "../../runtime/maybe_promise.ts";
import type { Indexer, PendingIndexing } from "../../search/indexer.ts";
import type { Statement } from "../../sql/fragment.ts";
import type { Resource } from "../define/resource.ts";
import type { OperationCall, WriteCall } from "../operation.ts";

/** The connection of a write, which remembers the rows that search indexes must take. */
export class WriteConnection implements Connection {
  readonly #connection: Connection;
  #written: Map<Indexer, Key[]> | null = null;

  /** Writes by this connection, mostly that of a transaction. */
  constructor(connection: Connection) {
    this.#connection = connection;
  }

  query(statement: Statement): MaybePromise<QueryResult> {
    return this.#connection.query(statement);
  }

  /** Remembers rows that were written, or deleted. */
  noteWritten(keys: readonly Key[], resource: Resource): void {
    for (const indexer of resource.indexers) {
      this.#written ??= new Map();
      const known = this.#written.get(indexer);
      if (known === undefined) this.#written.set(indexer, [...keys]);
      else known.push(...keys);
    }
  }

  /** Hands the rows to the indexers: at the end of the transaction, before its commit. */
  async indexWritten(): Promise<readonly PendingIndexing[]> {
    if (this.#written === null) return nothingPending;
    const pending: PendingIndexing[] = [];
    for (const [indexer, keys] of this.#written) {
      pending.push(await indexer.beforeCommit(keys, this.#connection));
    }
    return pending;
  }
}

const nothingPending: readonly PendingIndexing[] = Object.freeze([]);

/**
 * Runs the work of an operation in a transaction, up to three times, and stores its reply there
 * where one has to be stored. Search indexes take the rows that it has written before the commit or
 * after it.
 */
export async function inTransaction<Outcome>(
  { resource: { driver, runtime }, record }: OperationCall<Outcome>,
  work: (connection: WriteConnection) => Promise<Outcome>,
  options?: Pick<TransactOptions, "isLoneStatement">,
): Promise<Outcome> {
  let pending = nothingPending;
  const attempt = async (connection: Connection): Promise<Outcome> => {
    // What an earlier try has left was rolled back.
    for (const one of pending) await one.failed(true);
    pending = nothingPending;
    const write = new WriteConnection(connection);
    const outcome = await work(write);
    await record?.(outcome, connection);
    pending = await write.indexWritten();
    return outcome;
  };
  let outcome: Outcome;
  try {
    // With a reply to store there are two statements.
    const lone = record === null ? options : undefined;
    outcome = await transact(driver, runtime, attempt, lone);
  } catch (error) {
    const isCertain = !(error instanceof DatabaseError) || error.kind !== "unknown-outcome";
    for (const one of pending) await one.failed(isCertain);
    throw error;
  }
  for (const one of pending) await one.committed();
  return outcome;
}

/**
 * Whether the write of one row needs no transaction, being one statement: no row is locked before
 * it, and neither a scope nor an after-hook looks at the result.
 */
export function isLoneStatement(
  { grant, resource }: WriteCall,
  afterHook: "onAfterCreate" | "onAfterUpdate" | "onAfterDelete",
): boolean {
  return grant.rows.kind === "all" && grant.visible.kind === "all" && resource.etag === null &&
    resource.hooks[afterHook] === undefined &&
    resource.indexers.every(({ joinsTransaction }) => !joinsTransaction);
}
