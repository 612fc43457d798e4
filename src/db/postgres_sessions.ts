import { Buffer } from "node:buffer";
import type { Clock } from "../runtime/runtime.ts";
import type { Dialect } from "../sql/dialect.ts";
import type { SqlValue, Statement } from "../sql/fragment.ts";
import { postgresDialect } from "../sql/postgres_dialect.ts";
import { postgresText } from "../sql/postgres_text.ts";
import { DatabaseError } from "./database_error.ts";
import type { Connection, Driver, QueryResult } from "./driver.ts";
import { type Pool, pool } from "./pool.ts";
import { toPostgresError } from "./postgres_errors.ts";
import { type TransactionGuard, transactionGuard } from "./transaction_guard.ts";

/** One connection to a Postgres, whatever library holds it. It connects when first used. */
export interface PostgresSession {
  /**
   * Runs one statement; values cross as text, both ways. Throws the library's own errors.
   */
  run(text: string, values: readonly (string | null)[]): Promise<PostgresAnswer>;
  /** How often the connection was lost: what it held is gone when this has grown. */
  readonly losses: number;
  close(): Promise<void>;
}

/** What a statement answered. */
export interface PostgresAnswer {
  readonly rows: readonly (readonly (string | null)[])[];
  /** The command that was run, e.g. `INSERT`. */
  readonly command: string;
  readonly count: number;
}

/** What the driver of a Postgres is made of. */
export interface PostgresParts {
  readonly label: string;
  readonly sessions: readonly PostgresSession[];
  /** How long a caller waits for a session. */
  readonly waitLimitMs: number;
  readonly clock: Clock;
  /** Frees what lies below the sessions. */
  readonly close: () => Promise<void>;
}

/** The driver of every Postgres: the sessions differ, the rules do not. */
export function postgresDriver(parts: PostgresParts): Driver {
  return new PostgresDriver(parts);
}

class PostgresDriver implements Driver {
  readonly dialect: Dialect = postgresDialect({ text: postgresText });
  readonly label: string;
  readonly #parts: PostgresParts;
  readonly #pool: Pool<PostgresSession>;
  readonly #guard: TransactionGuard = transactionGuard();
  #closing: Promise<void> | null = null;

  constructor(parts: PostgresParts) {
    this.#parts = parts;
    this.#pool = pool(parts.sessions, parts.waitLimitMs, parts.clock);
    this.label = parts.label;
  }

  async query(statement: Statement): Promise<QueryResult> {
    this.#guard.check();
    const session = await this.#pool.take();
    try {
      return await run(session, statement);
    } catch (error) {
      throw toPostgresError(error, onlyReads.test(statement.text) ? "read" : "write");
    } finally {
      this.#pool.give(session);
    }
  }

  async transaction<T>(work: (connection: Connection) => Promise<T>): Promise<T> {
    this.#guard.check();
    const session = await this.#pool.take();
    try {
      return await this.#transaction(session, work);
    } finally {
      this.#pool.give(session);
    }
  }

  async #transaction<T>(
    session: PostgresSession,
    work: (connection: Connection) => Promise<T>,
  ): Promise<T> {
    await command(session, "BEGIN", "read");
    const unit = new PostgresTransaction(session);
    try {
      const result = await this.#guard.run(() => work(unit));
      await unit.end();
      const done = await command(session, "COMMIT", "commit");
      // A transaction with a failed statement answers COMMIT with ROLLBACK, and no error.
      if (done.command === "ROLLBACK") throw unit.failure;
      return result;
    } catch (error) {
      await unit.abandon();
      throw error;
    }
  }

  close(): Promise<void> {
    return this.#closing ??= this.#close();
  }

  async #close(): Promise<void> {
    await this.#pool.close();
    await Promise.all(this.#parts.sessions.map((session) => session.close()));
    await this.#parts.close();
  }
}

/** A statement of which a repetition can do no harm. WITH may hide an INSERT. */
const onlyReads = /^\s*(select|values|table|show|explain)\b/i;

async function run(session: PostgresSession, { text, values }: Statement): Promise<QueryResult> {
  const { rows, command, count } = await session.run(text, values.map(toText));
  return { rows, changed: writeCommands.has(command) ? count : 0 };
}

const writeCommands: ReadonlySet<string> = new Set(["INSERT", "UPDATE", "DELETE", "MERGE"]);

async function command(
  session: PostgresSession,
  text: string,
  sent: "read" | "commit",
): Promise<PostgresAnswer> {
  try {
    return await session.run(text, []);
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
  readonly #session: PostgresSession;
  readonly #losses: number;
  #ended = false;
  #failure: unknown = null;
  /** The statement that was sent last, answered or failed. */
  #last: Promise<unknown> = Promise.resolve();

  constructor(session: PostgresSession) {
    this.#session = session;
    this.#losses = session.losses;
  }

  /** Why the server would not commit: what the first statement that failed threw. */
  get failure(): unknown {
    return this.#failure ?? new DatabaseError("other", new Error("The server rolled back"));
  }

  /**
   * One statement at a time: a library that had the next one in hand when the connection is lost
   * would run it on a new connection, outside of any transaction.
   */
  query(statement: Statement): Promise<QueryResult> {
    if (this.#ended) return Promise.reject(new Error("Cannot query: the transaction has ended"));
    const answer = this.#last.then(() => this.#run(statement));
    this.#last = answer.catch((error) => this.#failure ??= error);
    return answer;
  }

  async #run(statement: Statement): Promise<QueryResult> {
    this.#checkConnection();
    try {
      return await run(this.#session, statement);
    } catch (error) {
      // Nothing is committed yet, so that a lost connection has changed nothing.
      throw toPostgresError(error, "read");
    }
  }

  /** Takes no more statements; throws when there is nothing left to commit. */
  async end(): Promise<void> {
    this.#ended = true;
    await this.#last;
    this.#checkConnection();
  }

  /** Undoes what was not committed. */
  async abandon(): Promise<void> {
    this.#ended = true;
    await this.#last;
    if (this.#session.losses !== this.#losses) return;
    // ROLLBACK can fail only together with its connection, and then the server rolls back.
    await this.#session.run("ROLLBACK", []).catch((error) => this.#failure ??= error);
  }

  /**
   * A lost connection comes back by itself, but without the transaction: whatever ran on it then
   * would be committed on its own.
   */
  #checkConnection(): void {
    if (this.#session.losses === this.#losses) return;
    throw new DatabaseError("unavailable", new Error("The connection was lost in a transaction"));
  }
}
