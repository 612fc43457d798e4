import { DatabaseError } from "../../../db/database_error.ts";
import type { Connection, Driver, QueryResult } from "../../../db/driver.ts";
import { engineOf } from "../../../db/engine/engine.ts";
import { asSystem, transact, type TransactOptions } from "../../../db/transact.ts";
import type { Key } from "../../../plan/key.ts";
import type { Row } from "../../../schema/table_info.ts";
import type { MaybePromise } from "../../../runtime/maybe_promise.ts";
import type { Indexer, PendingIndexing } from "../../../search/indexer.ts";
import type { Statement } from "../../../sql/fragment.ts";
import type { OpenTransaction, Resource } from "../../model/resource.ts";
import { type Joinable, JoinedCalls, PartConnection, PartDriver } from "./joined_calls.ts";
import type { OperationCall, WriteCall } from "../../model/operation.ts";
import { canRequireScope, mayWriteAlone, RowKept } from "../row_target.ts";
import { FailedWrite } from "../refused/failed_write.ts";
import type { User } from "../../../auth/authorize.ts";
import { databaseDefault } from "../../../plan/plan.ts";

/** `one-by-one` finds the rejected row. `read-back` reads rows by SELECT instead of RETURNING. */
type InsertMode = "together" | "one-by-one" | "read-back";

type WrittenRows = ReadonlyMap<Indexer, Written>;

/** Thrown if generated keys do not increase, so that the order of the returned rows is unknown. */
export class UnorderedKeysError extends Error {
  constructor() {
    super("The keys of new rows do not count up");
    this.name = "UnorderedKeysError";
  }
}

/** The connection of a write, which also collects the written rows for search indexes. */
export class WriteConnection implements Joinable<WrittenRows> {
  readonly #connection: Connection;
  #written: Map<Indexer, Written> | null = null;
  #calls: JoinedCalls<WrittenRows> | null = null;
  readonly #pending: PendingIndexing[] = [];

  readonly inserts: InsertMode;

  constructor(connection: Connection, inserts: InsertMode) {
    this.#connection = connection;
    this.inserts = inserts;
  }

  query(statement: Statement): MaybePromise<QueryResult> {
    return this.#connection.query(statement);
  }

  /** Collects written or deleted rows for indexing. `rows` is null if final values are unknown. */
  noteWritten(
    keys: readonly Key[],
    { indexers, table }: Resource,
    rows: readonly Row[] | null = null,
  ): void {
    // `rows` are final only in tables of the service. Elsewhere, a trigger can change the row.
    const known = table.own ? rows : null;
    for (const indexer of indexers) this.#note(indexer, { keys, rows: known });
  }

  takeOver(written: WrittenRows): void {
    for (const [indexer, one] of written) this.#note(indexer, one);
  }

  #note(indexer: Indexer, { keys, rows }: Written): void {
    this.#written ??= new Map();
    const before = this.#written.get(indexer);
    // A second write can change a row again, so the indexer must read the rows itself.
    if (before === undefined) this.#written.set(indexer, { keys: [...keys], rows });
    else this.#written.set(indexer, { keys: [...before.keys, ...keys], rows: null });
  }

  joined(driver: Driver): OpenTransaction {
    return this.#calls ??= new JoinedCalls(driver, this);
  }

  get hasCalls(): boolean {
    return this.#calls !== null;
  }

  get hasUnindexed(): boolean {
    return this.#written !== null;
  }

  /** Waits for running calls by server-side code, because hooks need not await their own calls. */
  async awaitCalls(): Promise<void> {
    await this.#calls?.idle();
  }

  close(): void {
    this.#calls?.close();
  }

  get pending(): readonly PendingIndexing[] {
    return this.#pending;
  }

  /** Passes the rows to the indexers before the commit, or earlier in a very large transaction. */
  async indexWritten(): Promise<void> {
    if (this.#written === null) return;
    const written = this.#written;
    this.#written = null;
    // If this connection is a part of a transaction, the whole transaction indexes the rows.
    if (this.#connection instanceof PartConnection) return this.#connection.takeOver(written);
    for (const [indexer, { keys, rows }] of written) {
      this.#pending.push(await indexer.beforeCommit(keys, this.#connection, rows));
    }
  }
}

interface Written {
  readonly keys: readonly Key[];
  readonly rows: readonly Row[] | null;
}

const nothingPending: readonly PendingIndexing[] = Object.freeze([]);

interface TransactionOptions<Outcome> extends Pick<OperationCall<Outcome>, "record" | "operation"> {
  readonly resource: Pick<Resource, "driver" | "runtime"> & Partial<Pick<Resource, "recording">>;
  readonly user?: User | null;
}

/** Runs work in a transaction, at most three times. `record` stores the response with the write. */
export async function inTransaction<Outcome>(
  { resource: { driver, runtime, recording }, record, user, operation }: TransactionOptions<
    Outcome
  >,
  work: (connection: WriteConnection) => Promise<Outcome>,
  options?: Pick<TransactOptions, "isAutocommit">,
): Promise<Outcome> {
  let pending = nothingPending;
  const isRecorded = (recording?.history?.size ?? 0) > 0;
  const actor = isRecorded && operation !== undefined && { user: user?.id ?? null, operation };
  const { versions } = engineOf(driver).changes;
  const attempt = (inserts: InsertMode) => async (connection: Connection): Promise<Outcome> => {
    // The work of the previous attempt was rolled back.
    for (const one of pending) await one.failed(true);
    pending = nothingPending;
    const write = new WriteConnection(connection, inserts);
    pending = write.pending;
    try {
      if (actor) await connection.query(versions.beginActor(actor));
      const outcome = await work(write);
      // Each await costs time even if there is nothing to wait for.
      if (write.hasCalls) await write.awaitCalls();
      if (record !== null) await record(outcome, asSystem(connection));
      if (write.hasUnindexed) await write.indexWritten();
      if (actor && (driver instanceof PartDriver || !versions.endsWithTransaction)) {
        await connection.query(versions.endActor);
      }
      return outcome;
    } finally {
      write.close();
    }
  };
  let outcome: Outcome;
  try {
    // Autocommit allows one statement. A stored response or a joined transaction needs more.
    const isLone = record === null && !actor && !(driver instanceof PartDriver);
    const lone = isLone ? options : undefined;
    const again = async (error: unknown) => {
      const inserts = modeAfter(error);
      if (inserts === null) throw error;
      return await transact(driver, runtime, attempt(inserts));
    };
    // Tries again if another request may have changed the row, or if generated keys were taken.
    outcome = await transact(driver, runtime, attempt("together"), lone).catch(async (error) =>
      error instanceof RowKept || await followGivenKeys(error, driver, driver)
        ? await transact(driver, runtime, attempt("together")).catch(again)
        : await again(error)
    );
  } catch (error) {
    const isCertain = !(error instanceof DatabaseError) || error.kind !== "unknown-outcome";
    for (const one of pending) await one.failed(isCertain);
    throw error;
  }
  for (const one of pending) await one.committed();
  return outcome;
}

function modeAfter(error: unknown): InsertMode | null {
  if (error instanceof UnorderedKeysError) return "one-by-one";
  if (!(error instanceof DatabaseError)) return null;
  if (error.kind === "no-returning") return "read-back";
  // If an INSERT of several rows is rejected, the engine does not report which row is the cause.
  return error instanceof FailedWrite && error.rows.length > 1 ? "one-by-one" : null;
}

/** Returns true if one statement is enough: nothing reads the row first or uses the result. */
export function isAutocommit(
  write: WriteCall,
  afterHook: "onAfterCreate" | "onAfterUpdate" | "onAfterDelete",
): boolean {
  const { resource, resource: { hooks, indexers } } = write;
  return hooks[afterHook] === undefined && mayWriteAlone(resource) &&
    indexers.every(({ joinsTransaction }) => !joinsTransaction) &&
    (afterHook === "onAfterDelete" || canRequireScope(write));
}

/** Advances a key's sequence past explicit keys. Returns true if the write can be retried. */
export async function followGivenKeys(
  error: unknown,
  { dialect: { advanceCounter } }: Pick<Driver, "dialect">,
  connection: Connection,
): Promise<boolean> {
  if (advanceCounter === null || !(error instanceof FailedWrite)) return false;
  const { kind, constraint, rows, resource: { table } } = error;
  const { primaryKey: [column, another] } = table;
  if (kind !== "unique" || column === undefined || another !== undefined) return false;
  const isCounted = column.default?.kind === "database" &&
    rows.some(({ values }) => (values.get(column) ?? databaseDefault) === databaseDefault);
  if (!isCounted || constraint?.name?.endsWith("_pkey") !== true) return false;
  try {
    await connection.query({ ...advanceCounter(column, table), isSystem: true });
    return true;
  } catch (failure) {
    // If the role can insert rows but not set the sequence, the write fails.
    if (failure instanceof DatabaseError) return false;
    throw failure;
  }
}
