import { Buffer } from "node:buffer";
import { type Deadline, deadline } from "../../runtime/deadline.ts";
import type { Clock } from "../../runtime/runtime.ts";
import type { Dialect } from "../../sql/dialect.ts";
import type { SqlValue, Statement } from "../../sql/fragment.ts";
import { postgresDialect } from "../../sql/postgres/dialect.ts";
import { postgresText } from "../../sql/postgres/text_operators.ts";
import { DatabaseError } from "../database_error.ts";
import type {
  Connection,
  Driver,
  QueryResult,
  ReadLimits,
  ResultColumn,
  Signals,
} from "../driver.ts";
import { type Pool, pool } from "./connection_pool.ts";
import { refusesSyntaxOfValue, toPostgresError } from "./postgres_errors.ts";
import {
  type CommitListeners,
  commitListeners,
  type TransactionGuard,
  transactionGuard,
} from "../transact.ts";

/** A session of the Postgres driver: it holds one connection at a time, by whichever library. */
export interface PostgresSession {
  /** The open connection; at first, and after a loss, a new one. */
  connection(): PostgresConnection;
  close(): Promise<void>;
}

/**
 * One connection of the Postgres driver by whichever library, until it is lost. It never connects
 * again: a transaction is bound to it.
 */
export interface PostgresConnection {
  /** Null once it is open. Rejects with the library's own error when it cannot be opened. */
  readonly opening: Promise<void> | null;
  /** Whether it is lost, and with it the transaction that it held. */
  readonly lost: boolean;
  /**
   * Runs one statement; values are text in both directions. Rejects with the library's own errors,
   * and as `unavailable` when the connection was lost before anything was sent.
   */
  run(text: string, values: readonly (string | null)[]): Promise<PostgresResult>;
  /** Closes the connection in any state: the server rolls back what was not committed. */
  drop(): void;
}

/** The result of a statement that the Postgres driver runs, by whichever library. */
export interface PostgresResult {
  readonly rows: readonly (readonly (string | null)[])[];
  /** The command that was run, e.g. `INSERT`. */
  readonly command: string;
  readonly count: number;
  readonly columns: readonly ResultColumn[];
}

/** The parts that the Postgres driver of any library is made of. */
export interface PostgresDriverOptions {
  readonly label: string;
  readonly sessions: readonly PostgresSession[];
  /** How long a request waits for a session, its connection and the begin of its transaction. */
  readonly waitLimitMs: number;
  readonly clock: Clock;
  /** Whether other processes may write to the database. */
  readonly isShared: boolean;
  /** Null where the connections carry no signals. */
  readonly signals: Signals | null;
  /** Closes what the sessions share. */
  readonly close: () => Promise<void>;
}

/** Creates the driver that every Postgres has in common, by sessions of whichever library. */
export function postgresDriver(options: PostgresDriverOptions): Driver {
  return new PostgresDriver(options);
}

class PostgresDriver implements Driver {
  readonly dialect: Dialect = postgresDialect({ text: postgresText });
  readonly label: string;
  readonly isShared: boolean;
  readonly signals: Signals | null;
  readonly #options: PostgresDriverOptions;
  readonly #commits: CommitListeners = commitListeners();
  readonly #pool: Pool<PostgresSession>;
  readonly #guard: TransactionGuard = transactionGuard();
  #closing: Promise<void> | null = null;

  constructor(options: PostgresDriverOptions) {
    this.#options = options;
    this.#pool = pool(options.sessions, options.waitLimitMs, options.clock);
    this.label = options.label;
    this.isShared = options.isShared;
    this.signals = options.signals;
  }

  async query(statement: Statement): Promise<QueryResult> {
    this.#guard.check();
    const limit = this.#limit();
    const session = await this.#pool.acquire();
    try {
      const connection = session.connection();
      if (connection.opening !== null) await opened(connection.opening, limit);
      const result = await run(connection, statement);
      if (!onlyReads.test(statement.text)) this.#commits.notify();
      return result;
    } catch (error) {
      throw translated(error, statement, onlyReads.test(statement.text) ? "read" : "write");
    } finally {
      this.#pool.release(session);
    }
  }

  reads(_limits: ReadLimits): Connection {
    return this;
  }

  async transaction<T>(work: (connection: Connection) => Promise<T>): Promise<T> {
    this.#guard.check();
    const limit = this.#limit();
    const session = await this.#pool.acquire();
    try {
      const connection = session.connection();
      if (connection.opening !== null) await opened(connection.opening, limit);
      await begin(connection, limit);
      return await this.#transaction(connection, work);
    } finally {
      this.#pool.release(session);
    }
  }

  async #transaction<T>(
    connection: PostgresConnection,
    work: (connection: Connection) => Promise<T>,
  ): Promise<T> {
    const unit = new PostgresTransaction(connection);
    try {
      const result = await this.#guard.run(() => work(unit));
      await unit.end();
      const done = await command(connection, "COMMIT", "commit");
      // A transaction with a failed statement answers COMMIT with ROLLBACK, and no error.
      if (done.command === "ROLLBACK") throw unit.failure;
      this.#commits.notify();
      return result;
    } catch (error) {
      await unit.abandon();
      throw error;
    }
  }

  onCommit(listener: () => void): () => void {
    return this.#commits.add(listener);
  }

  #limit(): Deadline {
    const { waitLimitMs, clock } = this.#options;
    return deadline(waitLimitMs, clock, () => tooLate(waitLimitMs));
  }

  close(): Promise<void> {
    return this.#closing ??= this.#close();
  }

  async #close(): Promise<void> {
    await this.#pool.close();
    await Promise.all(this.#options.sessions.map((session) => session.close()));
    await this.#options.close();
  }
}

/** Nothing was sent yet, so that the outcome of a failure is known. */
async function opened(opening: Promise<void>, limit: Deadline): Promise<void> {
  try {
    await limit.within(opening);
  } catch (error) {
    throw toPostgresError(error, "read");
  }
}

async function begin(connection: PostgresConnection, limit: Deadline): Promise<void> {
  try {
    await limit.within(connection.run("BEGIN", []));
  } catch (error) {
    // It may begin later: the next request on this connection would write into that transaction.
    connection.drop();
    throw toPostgresError(error, "read");
  }
}

/** A statement that can be repeated without harm. WITH may hide an INSERT. */
const onlyReads = /^\s*(select|values|table|show|explain)\b/i;

async function run(
  connection: PostgresConnection,
  { text, values, describe = false }: Statement,
): Promise<QueryResult> {
  const result = await connection.run(text, values.map(toText));
  const { rows, count } = result;
  const changed = writeCommands.has(result.command) ? count : 0;
  return describe ? { rows, changed, columns: result.columns } : { rows, changed };
}

function translated(error: unknown, { values }: Statement, sent: "write" | "read"): unknown {
  const refused = values.length > 0 && refusesSyntaxOfValue(error);
  return refused ? new DatabaseError("invalid-value", error) : toPostgresError(error, sent);
}

const writeCommands: ReadonlySet<string> = new Set(["INSERT", "UPDATE", "DELETE", "MERGE"]);

async function command(
  connection: PostgresConnection,
  text: string,
  sent: "read" | "commit",
): Promise<PostgresResult> {
  try {
    return await connection.run(text, []);
  } catch (error) {
    throw toPostgresError(error, sent);
  }
}

function toText(value: SqlValue): string | null {
  if (value === null || typeof value === "string") return value;
  if (typeof value !== "object") return String(value);
  return `\\x${Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString("hex")}`;
}

class PostgresTransaction implements Connection {
  readonly #connection: PostgresConnection;
  #ended = false;
  #failure: unknown = null;
  /** The statement that was sent last, answered or failed. */
  #last: Promise<unknown> = Promise.resolve();

  constructor(connection: PostgresConnection) {
    this.#connection = connection;
  }

  /** Why the server did not commit: the error of the first statement that failed. */
  get failure(): unknown {
    return this.#failure ?? new DatabaseError("other", new Error("The server rolled back"));
  }

  /** One statement at a time: statements sent together fail together when the connection is lost. */
  query(statement: Statement): Promise<QueryResult> {
    if (this.#ended) return Promise.reject(new Error("Cannot query: the transaction has ended"));
    const result = this.#last.then(() => this.#run(statement));
    this.#last = result.catch((error) => this.#failure ??= error);
    return result;
  }

  async #run(statement: Statement): Promise<QueryResult> {
    try {
      return await run(this.#connection, statement);
    } catch (error) {
      // Nothing is committed yet, so that a lost connection has changed nothing.
      throw translated(error, statement, "read");
    }
  }

  /** Rejects all further statements; throws when the connection was lost. */
  async end(): Promise<void> {
    this.#ended = true;
    await this.#last;
    if (!this.#connection.lost) return;
    throw new DatabaseError("unavailable", new Error("The connection was lost in a transaction"));
  }

  /** Rolls back. */
  async abandon(): Promise<void> {
    this.#ended = true;
    await this.#last;
    if (this.#connection.lost) return;
    await this.#connection.run("ROLLBACK", []).catch((error) => {
      this.#failure ??= error;
      // The next request on this connection would find the transaction open.
      this.#connection.drop();
    });
  }
}

function tooLate(limitMs: number): DatabaseError {
  const cause = new Error(`Cannot use the database: it gave no connection within ${limitMs} ms`);
  return new DatabaseError("unavailable", cause);
}
