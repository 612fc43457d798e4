import type { TableInfo } from "../../../../schema/table_info.ts";
import type { Deadline } from "../../../../runtime/runtime.ts";
import type { MaybePromise } from "../../../../runtime/maybe_promise.ts";
import type { Dialect } from "../../../../sql/dialect.ts";
import type { Statement } from "../../../../sql/fragment.ts";
import { DatabaseError } from "../../../../db/database_error.ts";
import type {
  Connection,
  DatabaseIdentity,
  Driver,
  PoolUsage,
  QueryResult,
  ReadLimits,
  Signals,
} from "../../../../db/driver.ts";
import type { PostgresConnection, PostgresSession } from "../postgres_connection.ts";
import { toPostgresError } from "../postgres_errors.ts";
import { type PostgresReadDependencies, PostgresReads } from "../postgres_reads.ts";
import { runStatement, translate } from "../run_statement.ts";
import type { SharedReads } from "../shared_reads.ts";
import type { Replicas } from "../../replicas/replicas.ts";
import { actingConnection, sendInOrder, takeIdentity } from "./acting_connection.ts";
import { rollBack, runTransaction, type TransactionParts } from "./postgres_transaction.ts";

export interface ActingDriverParts extends PostgresReadDependencies, TransactionParts {
  readonly replicas: Replicas | null;
  readonly pipelines: boolean;
  /** Runs quick reads by key. Null if connections cannot send several statements together. */
  readonly keyed: SharedReads | null;
}

/** Runs each statement in the name of an identity. Only quick reads share a transaction. */
export class ActingDriver implements Driver {
  readonly base?: Driver;
  readonly dialect: Dialect;
  readonly label: string;
  readonly isShared: boolean;
  readonly signals: Signals | null;
  readonly created: WeakSet<TableInfo> | undefined;
  readonly loneWrites: Connection = this;
  readonly #parts: ActingDriverParts;
  readonly #identity: DatabaseIdentity;
  readonly #login: Driver;
  /** The role of the service's own statements. `none` is the login role. */
  readonly #systemRole: string;

  constructor(base: Driver, parts: ActingDriverParts, identity: DatabaseIdentity) {
    if (identity.isSystem !== true) this.base = base;
    this.#login = base;
    this.#systemRole = base instanceof ActingDriver ? base.#identity.role : "none";
    this.dialect = base.dialect;
    this.label = base.label;
    this.isShared = base.isShared;
    this.signals = base.signals;
    this.created = base.created;
    this.#parts = parts;
    this.#identity = identity;
  }

  as(identity: DatabaseIdentity): Driver {
    return new ActingDriver(this, this.#parts, identity);
  }

  async query(statement: Statement): Promise<QueryResult> {
    const { base } = this;
    if (base !== undefined && this.#isForSystem(statement)) return await base.query(statement);
    this.#parts.guard.check();
    const isRead = statement.isSingle === true && statement.text.startsWith("SELECT");
    if (!isRead) return await twice(() => this.#write(statement));
    const { keyed } = this.#parts;
    const read = this.#ofRole(statement);
    const shared = keyed?.isQuick(read) ? await keyed.read(read, undefined, this.#identity) : null;
    return shared ?? await readTwice(() => this.#read(read));
  }

  reads(limits: ReadLimits): Connection {
    const connect = async (session: PostgresSession, limit: Deadline) =>
      this.#acting(await this.#parts.connect(session, limit));
    const identity = this.#identity;
    const reads = new PostgresReads({ ...this.#parts, connect, identity }, limits);
    const own: Connection = {
      query: (statement) => readTwice(() => reads.query(this.#ofRole(statement))),
    };
    const { guard, replicas } = this.#parts;
    return replicas?.reads(limits, own, { guard, identity }) ?? own;
  }

  limited<T>(limits: ReadLimits, work: () => Promise<T>): Promise<T> {
    return this.#login.limited?.(limits, work) ?? work();
  }

  async transaction<T>(work: (connection: Connection) => MaybePromise<T>): Promise<T> {
    this.#parts.guard.check();
    return await this.#begun(
      "transaction",
      (connection) =>
        runTransaction(
          connection,
          work,
          this.#parts,
          (connection, statement) =>
            this.#isForSystem(statement)
              ? this.#runForSystem(connection, statement)
              : runStatement(connection, statement),
        ),
    );
  }

  poolUsage(): PoolUsage {
    return this.#parts.pool.usage();
  }

  onCommit(listener: () => void): () => void {
    return this.#parts.commits.add(listener);
  }

  renewConnections(): void {
    this.#login.renewConnections?.();
  }

  close(): Promise<void> {
    if (this.base === undefined) return this.#login.close();
    throw new Error("Cannot close a database in the name of a user");
  }

  async #read(statement: Statement): Promise<QueryResult> {
    const { pool, raisedMessages, clock, keyed } = this.#parts;
    const limit = this.#parts.limit();
    const session = await pool.acquire(statement.text);
    try {
      const connection = await this.#parts.connect(session, limit);
      const beganAt = clock.elapsedMs();
      const result = await runStatement(this.#acting(connection), statement);
      keyed?.measured(statement, clock.elapsedMs() - beganAt);
      return result;
    } catch (error) {
      throw translate(error, statement, "read", raisedMessages);
    } finally {
      pool.release(session);
    }
  }

  /** Waits until the identity is confirmed. Then runs a statement that can write, and COMMIT. */
  #write(statement: Statement): Promise<QueryResult> {
    const { raisedMessages, commits, pipelines } = this.#parts;
    return this.#begun(statement.text, async (connection) => {
      let failure: unknown = null;
      let end: string | null = null;
      try {
        const [result, done] = await sendInOrder<QueryResult | string>(pipelines, [
          () =>
            runStatement(connection, statement, true).catch((error) => {
              failure = translate(error, statement, "write", raisedMessages);
              throw failure;
            }),
          async () => end = (await connection.run("COMMIT", [], true)).command,
        ]);
        commits.notify();
        if (done === "COMMIT" && typeof result === "object") return result;
        throw new DatabaseError("other", new Error("The server rolled back"));
      } catch (error) {
        if (end === null) await rollBack(connection);
        throw failure ?? toPostgresError(error, "commit", raisedMessages);
      }
    });
  }

  async #begun<T>(use: string, work: (connection: PostgresConnection) => Promise<T>): Promise<T> {
    const { pool, pipelines } = this.#parts;
    const limit = this.#parts.limit();
    const session = await pool.acquire(use);
    try {
      const connection = await this.#parts.connect(session, limit);
      let isOver = false;
      const taken = sendInOrder(pipelines, [
        () => connection.run("BEGIN", [], true),
        () => takeIdentity(connection, this.#identity),
      ]).finally(() => isOver = true);
      await limit.within(taken).catch(async (error) => {
        // Without a response, the server can still run BEGIN, so the connection must be dropped.
        if (isOver) await rollBack(connection);
        else connection.drop();
        throw toPostgresError(error, "read");
      });
      return await work(connection);
    } finally {
      pool.release(session);
    }
  }

  /** Savepoints run in the user's role, because a rollback to a savepoint restores the role. */
  #isForSystem({ isSystem, text }: Statement): boolean {
    return isSystem === true && this.base !== undefined && !savepoints.test(text);
  }

  async #runForSystem(connection: PostgresConnection, statement: Statement): Promise<QueryResult> {
    const setRole = (role: string) => () =>
      connection.run("SELECT set_config('role', $1, true)", [role], true);
    const { role } = this.#identity;
    let result: QueryResult | null = null;
    const run = async () => {
      result = await runStatement(connection, statement, true);
    };
    try {
      await sendInOrder<unknown>(this.#parts.pipelines, [
        setRole(this.#systemRole),
        run,
        setRole(role),
      ]);
    } catch (error) {
      // If the statement was not sent, the transaction continues, so the user's role is set again.
      if (!this.#parts.pipelines) await setRole(role)().catch(() => {});
      throw error;
    }
    return result ?? { rows: [], changed: 0 };
  }

  /** Adds the role as an SQL comment, so that each role has its own prepared statement. */
  #ofRole(statement: Statement): Statement {
    return { ...statement, text: `${statement.text} --${JSON.stringify(this.#identity.role)}` };
  }

  #acting(connection: PostgresConnection): PostgresConnection {
    return actingConnection(connection, this.#identity, this.#parts.pipelines);
  }
}

const savepoints = /^(?:SAVEPOINT|RELEASE|ROLLBACK)\b/;

/** Repeats work once if it was rolled back, for example because of a stale plan. */
async function twice<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof DatabaseError) || error.kind !== "retryable") throw error;
    return await work();
  }
}

/** Like {@link twice}, for reads. A row policy's error becomes `other`, no fault of the request. */
async function readTwice<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await twice(work);
  } catch (error) {
    const isOfPolicy = error instanceof DatabaseError && failuresOfPolicies.has(error.kind);
    throw isOfPolicy ? new DatabaseError("other", error.cause) : error;
  }
}

const failuresOfPolicies: ReadonlySet<string> = new Set(["raised", "check", "failed-computation"]);
