import { unreachable } from "../../../problem/unreachable.ts";
import type { Observer } from "../../../runtime/runtime.ts";
import type { MaybePromise } from "../../../runtime/maybe_promise.ts";
import type { TableInfo } from "../../../schema/table_info.ts";
import type { Dialect } from "../../../sql/dialect.ts";
import type { Statement } from "../../../sql/fragment.ts";
import { DatabaseError, reasonOf } from "../../../db/database_error.ts";
import type {
  Connection,
  Driver,
  DriverThreads,
  QueryResult,
  ReadLimits,
} from "../../../db/driver.ts";
import {
  type BusyRetry,
  retryWhileBusy,
  type SqliteConnection,
  type StatementKind,
} from "./sqlite_connection.ts";
import { FilePresence } from "./file_presence.ts";
import { GroupCommit } from "./group_commit.ts";
import { LimitedReads, type RunLimitedRead } from "./reads/limited_read.ts";
import type { ReaderThreads } from "./reads/reader_threads.ts";
import { refuseTransactionBoundary } from "../../../db/refuse_transaction_boundary.ts";
import { isUnwritable, missingFunctionOrCollation, toSqliteError } from "./sqlite_errors.ts";
import { endJournal, type SqliteFile, type SqliteWriter } from "./sqlite_file.ts";
import type { SqliteLibrary } from "./sqlite_library.ts";
import { CrossProcessWriteLock } from "./cross_process_write_lock.ts";
import {
  type CommitListeners,
  commitListeners,
  type TransactionGuard,
  transactionGuard,
} from "../../../db/transact.ts";

interface SqliteDriverOptions {
  readonly raisedMessages: boolean;
  readonly library: SqliteLibrary;
  readonly file: SqliteFile;
  readonly reader: SqliteConnection;
  readonly writer: SqliteWriter | null;
  readonly threads: ReaderThreads;
  readonly busyRetry: BusyRetry;
  readonly label: string;
  readonly dialect: Dialect;
}

export class SqliteDriver implements Driver {
  readonly dialect: Dialect;
  readonly label: string;
  readonly isShared: boolean;
  readonly signals = null;
  readonly created: WeakSet<TableInfo> = new WeakSet();
  readonly threads: DriverThreads;
  readonly #options: SqliteDriverOptions;
  readonly #commits: CommitListeners = commitListeners();
  readonly #writes: GroupCommit | null;
  readonly #turn: CrossProcessWriteLock | null;
  readonly #guard: TransactionGuard = transactionGuard();
  readonly #presence: FilePresence | null;
  readonly #limited: LimitedReads;
  readonly #readFreely: RunLimitedRead;
  #closing: Promise<void> | null = null;

  constructor(options: SqliteDriverOptions) {
    const { writer, busyRetry } = options;
    const translated = (error: unknown) => this.#translated(error);
    this.#options = options;
    this.#readFreely = (statement) => options.reader.run(statement);
    let longest = 0;
    this.#limited = new LimitedReads({
      reader: options.reader,
      clock: busyRetry.clock,
      threads: options.threads,
      takeLongestWritten: () => {
        const length = longest;
        longest = 0;
        return length;
      },
    });
    const committed = () => {
      if (writer !== null) longest = Math.max(longest, writer.connection.takeMaxBoundLength());
      this.#commits.notify();
    };
    const { file, label } = options;
    const named = { label, clock: busyRetry.clock };
    const turn = this.#turn = writer === null || file.temporary
      ? null
      : new CrossProcessWriteLock({ path: file.path, ...named });
    const presence = this.#presence = file.temporary ? null : new FilePresence(file, named);
    const requireFile = () => presence?.require();
    this.#writes = writer === null ? null : new GroupCommit({
      ...{ writer: writer.connection, busyRetry, guard: this.#guard, translated },
      ...{ requireFile, committed, turn },
    });
    this.isShared = !file.temporary;
    this.label = label;
    // For a small or temporary file, the threads start when a read needs them.
    this.threads = {
      start: async () => file.temporary ? undefined : await options.threads.start(),
    };
    this.dialect = options.dialect;
  }

  query(statement: Statement): MaybePromise<QueryResult> {
    return this.#run(statement, this.#readFreely);
  }

  reads(limits: ReadLimits): Connection {
    const read = this.#limited.of(limits);
    return { query: (statement) => this.#run(statement, read) };
  }

  #run(statement: Statement, read: RunLimitedRead): MaybePromise<QueryResult> {
    try {
      this.#guard.check();
      if (this.#closing !== null) throw new DatabaseError("unavailable", new Error("it is closed"));
      const { reader, writer } = this.#options;
      let kind: StatementKind;
      try {
        kind = reader.kindOf(statement.text);
      } catch (error) {
        // Only the writer can compile a statement whose triggers contain strings in double quotes.
        if (writer === null) throw error;
        kind = writer.connection.kindOf(statement.text);
      }
      switch (kind) {
        case "read":
          return this.#read(statement, read);
        case "write":
          return this.#writable().write(statement, "statement");
        case "alone":
          return this.#writable().write(statement, "alone");
        case "boundary":
          return refuseTransactionBoundary();
        default:
          return unreachable(kind);
      }
    } catch (error) {
      const { busyRetry, library, file, writer } = this.#options;
      // A read-only connection cannot undo the transaction of a killed program. `endJournal` can.
      const isLeft = writer === null && isUnwritable(library.errorName(error)) && file.hasChanges();
      if (isLeft) endJournal(library, file.path);
      return isLeft || busyRetry.isBusy(error)
        ? this.#readWhileBusy(statement, read)
        : Promise.reject(this.#translated(error));
    }
  }

  async transaction<T>(work: (connection: Connection) => MaybePromise<T>): Promise<T> {
    this.#guard.check();
    return await this.#writable().transaction(work);
  }

  async restructure<T>(work: (connection: Connection) => MaybePromise<T>): Promise<T> {
    this.#guard.check();
    return await this.#writable().transaction(work, "restructuring");
  }

  onCommit(listener: () => void): () => void {
    return this.#commits.add(listener);
  }

  observeBy(observe: Observer): void {
    this.#options.threads.observeBy(observe);
    this.#turn?.observeBy(observe);
    this.#presence?.observeBy(observe);
  }

  close(): Promise<void> {
    return this.#closing ??= this.#close();
  }

  #read(statement: Statement, read: RunLimitedRead): MaybePromise<QueryResult> {
    const { reader } = this.#options;
    this.#presence?.require();
    const result = read(statement);
    if (!("rows" in result)) {
      return result.catch((error) => Promise.reject(this.#translated(error)));
    }
    if (result.rows.length === 0 && reader.inTransaction) {
      // The statement was a SAVEPOINT: it has begun a transaction on the shared connection.
      reader.run({ text: "ROLLBACK", values: [] });
      refuseTransactionBoundary();
    }
    return result;
  }

  async #readWhileBusy(statement: Statement, read: RunLimitedRead): Promise<QueryResult> {
    try {
      const { busyRetry } = this.#options;
      return await retryWhileBusy(busyRetry, () => this.#read(statement, read));
    } catch (error) {
      throw this.#translated(error);
    }
  }

  #writable(): GroupCommit {
    if (this.#writes !== null) return this.#writes;
    throw new DatabaseError("read-only", new Error(`${this.label} is open for reading only`));
  }

  async #close(): Promise<void> {
    const { reader, writer, threads, file } = this.#options;
    await Promise.all([this.#writes?.close(), threads.close()]);
    this.#turn?.close();
    reader.close();
    // The writer closes last, because the last connection copies the journal to the file.
    writer?.close();
    if (writer === null && file.hasIdleJournal()) {
      endJournal(this.#options.library, file.path);
    }
    file.release();
  }

  #translated(error: unknown): unknown {
    const { library, raisedMessages } = this.#options;
    const translated = toSqliteError(error, library.errorName(error), raisedMessages);
    if (!(translated instanceof DatabaseError)) return translated;
    if (translated.kind === "replaced") this.#presence?.reportDamage(translated);
    if (translated.kind !== "other") return translated;
    const part = missingFunctionOrCollation(reasonOf(translated));
    return part !== null && this.#isInSchema(part.name)
      ? new DatabaseError("broken-table", error)
      : translated;
  }

  #isInSchema(name: string): boolean {
    const text = "SELECT 1 FROM sqlite_schema WHERE instr(lower(sql), lower(?)) > 0 LIMIT 1";
    return this.#options.reader.run({ text, values: [name] }).rows.length > 0;
  }
}
