import { pause, systemRuntime } from "../runtime/system_runtime.ts";
import type { Clock } from "../runtime/runtime.ts";
import type { Dialect } from "../sql/dialect.ts";
import { fold } from "../sql/fold.ts";
import { sql, type Statement } from "../sql/fragment.ts";
import { sqliteDialect } from "../sql/sqlite_dialect.ts";
import { foldFunctionName, sqliteText } from "../sql/sqlite_text.ts";
import { DatabaseError } from "./database_error.ts";
import type { Connection, Driver, QueryResult } from "./driver.ts";
import { type Pool, pool } from "./pool.ts";
import { type SqliteConnection, sqliteConnection } from "./sqlite_connection.ts";
import { isBusy, toSqliteError } from "./sqlite_errors.ts";
import { claimSqliteFile, requireSqliteFile, type SqliteFile } from "./sqlite_file.ts";
import type { SqliteLibrary } from "./sqlite_library.ts";
import { type TransactionGuard, transactionGuard } from "./transaction_guard.ts";

/** How a SQLite file is opened. */
export interface SqliteOptions {
  /** Changes nothing, not even the journal mode: for a file that belongs to somebody else. */
  readonly readOnly?: boolean | undefined;
  /** How long a write waits for its turn, and for other processes. 5,000 by default. */
  readonly waitLimitMs?: number | undefined;
  /** The time of the machine by default. */
  readonly clock?: Clock | undefined;
}

/**
 * Opens `path` with one connection that writes and one that reads, so that a read never waits for
 * a transaction. `:memory:` is a temporary file, removed by `close()`. Transactions take turns.
 */
export async function sqliteDriver(
  library: SqliteLibrary,
  path: string,
  options: SqliteOptions = {},
): Promise<Driver> {
  const clock = options.clock ?? systemRuntime(() => {}).clock;
  const waitLimitMs = options.waitLimitMs ?? 5_000;
  const patience: Patience = { clock, waitLimitMs, isBusy: (e) => isBusy(library.errorName(e)) };
  requireSqliteFile(path, options.readOnly === true);
  const file = claimSqliteFile(path, library.name);
  let writer: SqliteConnection | null = null;
  let reader: SqliteConnection | null = null;
  try {
    if (options.readOnly !== true) writer = await openWriter(library, file, patience);
    const connection = reader = open(library, file.path, true);
    // A file that is no database shows itself at this first read.
    const dialect = await patiently(patience, () => dialectFor(connection));
    const label = `${path} (${library.name})`;
    return new SqliteDriver({ library, file, reader, writer, patience, label, dialect });
  } catch (error) {
    reader?.close();
    writer?.close();
    file.release();
    throw toSqliteError(error, library.errorName(error));
  }
}

async function openWriter(
  library: SqliteLibrary,
  file: SqliteFile,
  patience: Patience,
): Promise<SqliteConnection> {
  const writer = open(library, file.path, false);
  try {
    await patiently(patience, () => query(writer, "PRAGMA journal_mode = WAL"));
    query(writer, `PRAGMA synchronous = ${file.temporary ? "OFF" : "FULL"}`);
    query(writer, "PRAGMA foreign_keys = ON");
    // A REPLACE then runs the delete triggers of the rows it drives out: the changelog sees them.
    query(writer, "PRAGMA recursive_triggers = ON");
    return writer;
  } catch (error) {
    writer.close();
    throw error;
  }
}

function open(library: SqliteLibrary, path: string, readOnly: boolean): SqliteConnection {
  const handle = library.open(path, readOnly);
  handle.defineFunction(
    foldFunctionName,
    (value) => typeof value === "string" ? fold(value) : value,
  );
  return sqliteConnection(handle);
}

/**
 * SQLite prepares a statement anew for every value at which its planner has looked, which takes
 * longer than reading a short page. It does not look behind a plus. Where its plan could gain by
 * looking, which takes a partial index or what ANALYZE found out, the values stand open.
 */
function dialectFor(connection: SqliteConnection): Dialect {
  const dialect = sqliteDialect({ text: sqliteText });
  const { rows } = query(
    connection,
    `SELECT 1 FROM sqlite_schema WHERE name = 'sqlite_stat4'
     OR (type = 'index' AND sql LIKE '%)%WHERE%') LIMIT 1`,
  );
  if (rows.length > 0) return dialect;
  return {
    ...dialect,
    bound: (value, column) => sql`+${dialect.bound(value, column)}`,
    boundStored: (value, column) => sql`+${dialect.boundStored(value, column)}`,
  };
}

function query(connection: SqliteConnection, text: string): QueryResult {
  return connection.run({ text, values: [] });
}

interface Patience {
  readonly clock: Clock;
  readonly waitLimitMs: number;
  readonly isBusy: (error: unknown) => boolean;
}

/**
 * Tries again while another process holds the lock. The waiting is done here and not by SQLite,
 * whose busy timeout would stop the whole process.
 */
async function patiently<T>(patience: Patience, attempt: () => T): Promise<T> {
  const start = patience.clock.elapsedMs();
  for (let delayMs = 1;; delayMs = Math.min(2 * delayMs, 16)) {
    try {
      return attempt();
    } catch (error) {
      const waitedMs = patience.clock.elapsedMs() - start;
      if (!patience.isBusy(error) || waitedMs >= patience.waitLimitMs) throw error;
    }
    await pause(delayMs);
  }
}

interface SqliteParts {
  readonly library: SqliteLibrary;
  readonly file: SqliteFile;
  readonly reader: SqliteConnection;
  /** Null when the file is read-only. */
  readonly writer: SqliteConnection | null;
  readonly patience: Patience;
  readonly label: string;
  readonly dialect: Dialect;
}

class SqliteDriver implements Driver {
  readonly dialect: Dialect;
  readonly label: string;
  readonly #parts: SqliteParts;
  readonly #writers: Pool<SqliteConnection>;
  readonly #guard: TransactionGuard = transactionGuard();
  #closing: Promise<void> | null = null;

  constructor(parts: SqliteParts) {
    const { clock, waitLimitMs } = parts.patience;
    this.#parts = parts;
    this.#writers = pool(parts.writer === null ? [] : [parts.writer], waitLimitMs, clock);
    this.label = parts.label;
    this.dialect = parts.dialect;
  }

  /** Reads answer without waiting: nothing but the promise lies between the caller and SQLite. */
  query(statement: Statement): Promise<QueryResult> {
    try {
      this.#guard.check();
      if (this.#closing !== null) throw new DatabaseError("unavailable", new Error("it is closed"));
      return this.#parts.reader.isReadOnly(statement.text)
        ? Promise.resolve(this.#read(statement))
        : this.#write(statement);
    } catch (error) {
      return this.#parts.patience.isBusy(error)
        ? this.#readPatiently(statement)
        : Promise.reject(this.#translated(error));
    }
  }

  async transaction<T>(work: (connection: Connection) => Promise<T>): Promise<T> {
    this.#guard.check();
    const writer = await this.#takeWriter();
    const unit = new SqliteTransaction(writer, (error) => this.#translated(error));
    try {
      await patiently(this.#parts.patience, () => query(writer, "BEGIN IMMEDIATE"));
      const result = await this.#guard.run(() => work(unit));
      unit.end();
      // A commit can meet a lock only where the file could not be put into WAL mode.
      await patiently(this.#parts.patience, () => query(writer, "COMMIT"));
      return result;
    } catch (error) {
      throw this.#translated(error);
    } finally {
      unit.abandon();
      this.#writers.give(writer);
    }
  }

  close(): Promise<void> {
    return this.#closing ??= this.#close();
  }

  #read(statement: Statement): QueryResult {
    const { reader } = this.#parts;
    const result = reader.run(statement);
    if (result.rows.length === 0) refuseBegin(reader);
    return result;
  }

  async #write(statement: Statement): Promise<QueryResult> {
    const writer = await this.#takeWriter();
    try {
      const result = await patiently(this.#parts.patience, () => writer.run(statement));
      refuseBegin(writer);
      return result;
    } catch (error) {
      throw this.#translated(error);
    } finally {
      this.#writers.give(writer);
    }
  }

  async #readPatiently(statement: Statement): Promise<QueryResult> {
    try {
      return await patiently(this.#parts.patience, () => this.#read(statement));
    } catch (error) {
      throw this.#translated(error);
    }
  }

  #takeWriter(): SqliteConnection | Promise<SqliteConnection> {
    if (this.#parts.writer === null) {
      throw new DatabaseError("read-only", new Error(`${this.label} is open for reading only`));
    }
    return this.#writers.take();
  }

  async #close(): Promise<void> {
    const { reader, writer, file } = this.#parts;
    await this.#writers.close();
    reader.close();
    // The last connection to leave folds the journal into the file, which only a writer can do.
    writer?.close();
    file.release();
  }

  #translated(error: unknown): unknown {
    return toSqliteError(error, this.#parts.library.errorName(error));
  }
}

/** Whoever begins by a statement would hold a connection that all share. */
function refuseBegin(connection: SqliteConnection): void {
  if (!connection.inTransaction) return;
  query(connection, "ROLLBACK");
  throw new Error("Cannot begin a transaction by a statement: use transaction()");
}

class SqliteTransaction implements Connection {
  readonly #writer: SqliteConnection;
  readonly #translated: (error: unknown) => unknown;
  #ended = false;
  /** What made SQLite roll the whole transaction back. */
  #lost: unknown = null;

  constructor(writer: SqliteConnection, translated: (error: unknown) => unknown) {
    this.#writer = writer;
    this.#translated = translated;
  }

  query(statement: Statement): Promise<QueryResult> {
    if (this.#ended) return Promise.reject(new Error("Cannot query: the transaction has ended"));
    // Without its transaction the statement would be committed on its own.
    if (this.#lost !== null) return Promise.reject(this.#lost);
    try {
      return Promise.resolve(this.#writer.run(statement));
    } catch (error) {
      const translated = this.#translated(error);
      // A full disk or a failed write ends the transaction, not only the statement.
      if (!this.#writer.inTransaction) this.#lost = translated;
      return Promise.reject(translated);
    }
  }

  /** Takes no more statements; throws when there is nothing left to commit. */
  end(): void {
    this.#ended = true;
    if (this.#lost !== null) throw this.#lost;
  }

  /** Undoes what was not committed. */
  abandon(): void {
    this.#ended = true;
    if (this.#writer.inTransaction) query(this.#writer, "ROLLBACK");
  }
}
