import { type Described, group } from "../../options/option.ts";
import { unreachable } from "../../problem/unreachable.ts";
import { systemClock } from "../../runtime/system_runtime.ts";
import type { Clock } from "../../runtime/runtime.ts";
import type { Dialect } from "../../sql/dialect.ts";
import { fold } from "../../sql/fold.ts";
import { sql, type Statement } from "../../sql/fragment.ts";
import { sqliteDialect } from "../../sql/sqlite/dialect.ts";
import { matchesWildcards } from "../../sql/wildcard_pattern.ts";
import { metricFunctions, restAggregate } from "../../sql/sqlite/metrics.ts";
import { foldFunctionName, likeFunctionName, sqliteText } from "../../sql/sqlite/text_operators.ts";
import { DatabaseError } from "../database_error.ts";
import type { Connection, Driver, QueryResult, ReadLimits } from "../driver.ts";
import { driverOptions, openingPlace } from "../driver_options.ts";
import { GroupCommit } from "./group_commit.ts";
import {
  type BusyRetry,
  refuseBoundary,
  retryWhileBusy,
  type SqliteConnection,
  sqliteConnection,
} from "./sqlite_connection.ts";
import { isBusy, toSqliteError } from "./sqlite_errors.ts";
import { claimSqliteFile, requireSqliteFile, type SqliteFile } from "./sqlite_file.ts";
import type { SqliteLibrary } from "./sqlite_library.ts";
import {
  type CommitListeners,
  commitListeners,
  type TransactionGuard,
  transactionGuard,
} from "../transact.ts";

/** Options of the SQLite driver, with any library. */
export interface SqliteOptions {
  /** Changes nothing, not even the journal mode: for a file of another program. */
  readonly readOnly?: boolean | undefined;
  /** How long a write waits for its turn, and for other processes. 5,000 by default. */
  readonly waitLimitMs?: number | undefined;
  /** The time of the machine by default. */
  readonly clock?: Clock | undefined;
}

/** The options of the SQLite driver, described. */
export const sqliteOptions = group(driverOptions satisfies Described<SqliteOptions>).required();

/**
 * Creates the driver that all SQLite libraries share: opens `path` with one connection that writes
 * and one that reads, so that a read never waits for a transaction. `:memory:` is a temporary file,
 * removed by `close()`. Writes that come together share a commit ({@link GroupCommit}).
 */
export async function sqliteDriver(
  library: SqliteLibrary,
  path: string,
  given: SqliteOptions = {},
): Promise<Driver> {
  const options = sqliteOptions.read(given, openingPlace);
  const { clock = systemClock, waitLimitMs } = options;
  const busyRetry: BusyRetry = { clock, waitLimitMs, isBusy: (e) => isBusy(library.errorName(e)) };
  requireSqliteFile(path, options.readOnly === true);
  const file = claimSqliteFile(path, library.name);
  let writer: SqliteConnection | null = null;
  let reader: SqliteConnection | null = null;
  try {
    if (options.readOnly !== true) writer = await openWriter(library, file, busyRetry);
    const connection = reader = open(library, file.path, true);
    // For a file that is no database, this first read fails.
    const dialect = await retryWhileBusy(busyRetry, () => dialectFor(connection));
    const label = `${path} (${library.name})`;
    return new SqliteDriver({ library, file, reader, writer, busyRetry, label, dialect });
  } catch (error) {
    reader?.close();
    writer?.close();
    file.release();
    const name = library.errorName(error);
    if (name !== "SQLITE_NOTADB") throw toSqliteError(error, name);
    const message = `Cannot open ${path}: it is not a SQLite database, or it is encrypted`;
    throw new Error(message, { cause: error });
  }
}

async function openWriter(
  library: SqliteLibrary,
  file: SqliteFile,
  busyRetry: BusyRetry,
): Promise<SqliteConnection> {
  const writer = open(library, file.path, false);
  try {
    await retryWhileBusy(busyRetry, () => query(writer, "PRAGMA journal_mode = WAL"));
    query(writer, `PRAGMA synchronous = ${file.temporary ? "OFF" : "FULL"}`);
    query(writer, "PRAGMA foreign_keys = ON");
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
  handle.defineFunction(
    likeFunctionName,
    (value, pattern) =>
      typeof value === "string" ? Number(matchesWildcards(value, String(pattern))) : null,
  );
  for (const [name, work] of metricFunctions) handle.defineFunction(name, work);
  handle.defineAggregate(restAggregate.name, restAggregate);
  return sqliteConnection(handle);
}

/**
 * SQLite prepares a statement again for every new value that its planner has used, which takes
 * longer than reading a short page. It does not use a value after a unary plus. Where a plan could
 * gain by the values, which takes a partial index or results of ANALYZE, there is no plus.
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

interface SqliteDriverOptions {
  readonly library: SqliteLibrary;
  readonly file: SqliteFile;
  readonly reader: SqliteConnection;
  /** Null when the file is read-only. */
  readonly writer: SqliteConnection | null;
  readonly busyRetry: BusyRetry;
  readonly label: string;
  readonly dialect: Dialect;
}

class SqliteDriver implements Driver {
  readonly dialect: Dialect;
  readonly label: string;
  readonly isShared: boolean;
  readonly signals = null;
  readonly #options: SqliteDriverOptions;
  readonly #commits: CommitListeners = commitListeners();
  /** Null when the file is read-only. */
  readonly #writes: GroupCommit | null;
  readonly #guard: TransactionGuard = transactionGuard();
  #closing: Promise<void> | null = null;

  constructor(options: SqliteDriverOptions) {
    const { writer, busyRetry } = options;
    const translated = (error: unknown) => this.#translated(error);
    this.#options = options;
    const committed = () => this.#commits.notify();
    this.#writes = writer === null
      ? null
      : new GroupCommit({ writer, busyRetry, guard: this.#guard, translated, committed });
    this.isShared = !options.file.temporary;
    this.label = options.label;
    this.dialect = options.dialect;
  }

  /** Reads run synchronously: only the promise is between the caller and SQLite. */
  query(statement: Statement): Promise<QueryResult> {
    try {
      this.#guard.check();
      if (this.#closing !== null) throw new DatabaseError("unavailable", new Error("it is closed"));
      const kind = this.#options.reader.kindOf(statement.text);
      switch (kind) {
        case "read":
          return Promise.resolve(this.#read(statement));
        case "write":
          return this.#writable().write(statement, "statement");
        case "alone":
          return this.#writable().write(statement, "alone");
        case "boundary":
          return refuseBoundary();
        default:
          return unreachable(kind);
      }
    } catch (error) {
      return this.#options.busyRetry.isBusy(error)
        ? this.#readWhileBusy(statement)
        : Promise.reject(this.#translated(error));
    }
  }

  reads(_limits: ReadLimits): Connection {
    return this;
  }

  async transaction<T>(work: (connection: Connection) => Promise<T>): Promise<T> {
    this.#guard.check();
    return await this.#writable().transaction(work);
  }

  onCommit(listener: () => void): () => void {
    return this.#commits.add(listener);
  }

  close(): Promise<void> {
    return this.#closing ??= this.#close();
  }

  #read(statement: Statement): QueryResult {
    const { reader } = this.#options;
    const result = reader.run(statement);
    if (result.rows.length === 0 && reader.inTransaction) {
      // A savepoint: it would keep a transaction open on a connection that all requests share.
      query(reader, "ROLLBACK");
      refuseBoundary();
    }
    return result;
  }

  async #readWhileBusy(statement: Statement): Promise<QueryResult> {
    try {
      return await retryWhileBusy(this.#options.busyRetry, () => this.#read(statement));
    } catch (error) {
      throw this.#translated(error);
    }
  }

  #writable(): GroupCommit {
    if (this.#writes !== null) return this.#writes;
    throw new DatabaseError("read-only", new Error(`${this.label} is open for reading only`));
  }

  async #close(): Promise<void> {
    const { reader, writer, file } = this.#options;
    await this.#writes?.close();
    reader.close();
    // The last connection to close copies the journal into the file, which only a writer can do.
    writer?.close();
    file.release();
  }

  #translated(error: unknown): unknown {
    return toSqliteError(error, this.#options.library.errorName(error));
  }
}
