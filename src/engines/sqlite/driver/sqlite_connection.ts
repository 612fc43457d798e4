import { boundedMap } from "../../../runtime/bounded_map.ts";
import type { SqlValue, Statement } from "../../../sql/fragment.ts";
import { DatabaseError } from "../../../db/database_error.ts";
import { refuseTransactionBoundary } from "../../../db/refuse_transaction_boundary.ts";
import type { Connection, QueryResult, ResultColumn } from "../../../db/driver.ts";
import { timeInTransaction } from "./reads/time_in_transaction.ts";
import { timeCheckFunctionName, withoutRowChecks, withRowByteCount } from "../sql/time_check.ts";
import {
  normalizeCells,
  type RemainingBytes,
  type RowBytes,
  type StatementDeadline,
  type TimeLimit,
  tooLargeError,
  unlimitedBytes,
} from "./read_limits.ts";
import { withoutLeadingComments } from "./statement_start.ts";
import type { SqliteHandle, SqliteStatement } from "./sqlite_library.ts";
import { sleep } from "../../../runtime/event_loop.ts";
import type { Clock } from "../../../runtime/runtime.ts";

/** A connection to a SQLite file. Its methods throw the errors of the library. */
export interface SqliteConnection {
  readonly inTransaction: boolean;
  kindOf(text: string): StatementKind;
  /** Returns true if a statement has time checks. Other statements cannot be aborted. */
  checksTime(text: string): boolean;
  run(statement: Statement): QueryResult;
  /** Runs a read-only statement. Throws `too-large` if the rows exceed the remaining bytes. */
  read(statement: Statement, how: LimitedRead): QueryResult;
  /** The length of the longest string or bytes bound since this property was last set to 0. */
  maxBoundLength: number;
  close(): void;
}

/** The SQL functions that abort statements that exceed a limit. */
export interface StatementLimitChecks {
  readonly deadline: StatementDeadline;
  readonly rowBytes: RowBytes;
}

export interface LimitedRead {
  readonly bytes: RemainingBytes;
  readonly time: TimeLimit;
  /** True if all rows may be in memory before their bytes are counted, which is faster. */
  readonly atOnce: boolean;
  /** True if the read is short whatever the rows are, so it needs no time checks. */
  readonly isShort?: boolean;
}

export type StatementKind =
  | "read"
  | "write"
  /** A write that SQLite accepts only outside of transactions, or that has an effect only there. */
  | "alone"
  /** The start or end of a transaction. */
  | "boundary";

export const maxPreparedStatements = 500;

/** The maximum size of prepared statements, in bytes. Clients determine how long filters are. */
const maxPreparedBytes = 32 * 1024 * 1024;

/** The estimated size of a prepared statement, in bytes for each character of its text. */
const bytesPerCharacter = 32;

/** Adds a statement cache, exact integers and a common form of cells to a SQLite handle. */
export function sqliteConnection(
  handle: SqliteHandle,
  { deadline, rowBytes }: StatementLimitChecks,
): SqliteConnection {
  const { prepared, shortOf, countedBy } = statementCache(handle);
  let maxBoundLength = 0;

  function bound(values: readonly SqlValue[]): readonly SqlValue[] {
    return values.map((value) => {
      if (typeof value === "number" || value === null) return toBound(value);
      if (typeof value !== "bigint" && value.length > maxBoundLength) maxBoundLength = value.length;
      return value;
    });
  }

  return {
    get inTransaction() {
      return handle.inTransaction;
    },
    kindOf: (text) => prepared(text).kind,
    checksTime: (text) => prepared(text).checksTime,
    run(statement) {
      const known = prepared(statement.text);
      const result = runPrepared(known, bound(statement.values), statement.isSingle === true);
      return statement.describe === true ? described(result, known) : result;
    },
    read(statement, { bytes, time, atOnce, isShort }) {
      const known = isShort === true ? shortOf(statement.text) : prepared(statement.text);
      const counted = atOnce ? known : countedBy(statement.text, known);
      deadline.start(time, known.sorts);
      rowBytes.start(bytes);
      try {
        const result = runPrepared(counted, bound(statement.values), false, bytes);
        return statement.describe === true ? described(result, known) : result;
      } catch (error) {
        if (rowBytes.isOver) throw tooLargeError();
        throw deadline.isOver ? new DatabaseError("too-slow", error) : error;
      } finally {
        deadline.stop();
      }
    },
    get maxBoundLength() {
      return maxBoundLength;
    },
    set maxBoundLength(length) {
      maxBoundLength = length;
    },
    close: () => handle.close(),
  };
}

/** Returns the functions that prepare statements, each of which is prepared once. */
function statementCache(handle: SqliteHandle) {
  const cache = boundedMap<string, Prepared>(maxPreparedStatements, {
    maxBytes: maxPreparedBytes,
    bytesOf: (text) => bytesPerCharacter * text.length,
  });

  function prepared(text: string): Prepared {
    const known = cache.get(text);
    if (known !== undefined) return known;
    const start = withoutLeadingComments(text);
    // node:sqlite would crash with a segmentation fault.
    if (start === "") throw new Error("Cannot run an empty statement");
    const statement = handle.prepare(text);
    // Writes read exact integers from the start, because a write cannot run a second time.
    const fresh: Prepared = {
      statement,
      kind: statementKind(start, statement.readOnly),
      exact: !statement.readOnly,
      // If a table is altered, the columns of `*` change, although the text is not prepared again.
      columns: text.includes("*") ? null : columnsOf(statement),
      sorts: sorting.test(text),
      checksTime: text.includes(timeCheckFunctionName),
      short: null,
    };
    // SQLite crashes when a prepared EXPLAIN runs after its tables have changed.
    if (!explains.test(start)) cache.set(text, fresh);
    return fresh;
  }

  function shortOf(text: string): Prepared {
    const known = prepared(text);
    return known.short ??= known.checksTime ? prepared(withoutRowChecks(text)) : known;
  }

  function countedBy(text: string, known: Prepared): Prepared {
    if (!known.statement.returnsRows || !/^(?:SELECT|WITH)\b/i.test(text)) return known;
    const counted = prepared(withRowByteCount(text, known.statement.columnNames().length));
    // A second run would count the bytes of the rows twice.
    counted.exact = true;
    return counted;
  }

  return { prepared, shortOf, countedBy };
}

interface Prepared {
  readonly statement: SqliteStatement;
  readonly kind: StatementKind;
  /** True if integers are read as bigints, after a number was too large for a double. */
  exact: boolean;
  /** The columns of the result, or null if they depend on more than the text. */
  readonly columns: readonly ResultColumn[] | null;
  /** True if rows may be sorted after all of them are read. */
  readonly sorts: boolean;
  readonly checksTime: boolean;
  /** The version of the statement without time checks, or null before it is needed. */
  short: Prepared | null;
}

const sorting = /\b(?:GROUP BY|OVER)\b/;

function statementKind(start: string, readOnly: boolean): StatementKind {
  const keyword = firstWords.exec(start)?.[0] ?? "";
  if (boundaries.test(keyword)) return "boundary";
  if (readOnly) return "read";
  return outsideOfTransactions.test(keyword) ? "alone" : "write";
}

const explains = /^EXPLAIN\b/i;
const firstWords = /^\w+(?:\s+\w+){0,2}/;
/** Savepoints nest, and are no boundaries of transactions. */
const boundaries = /^(?:BEGIN|COMMIT|END|ROLLBACK(?!\s+(?:TRANSACTION\s+)?TO))\b/i;
const outsideOfTransactions = /^(?:VACUUM|PRAGMA|ATTACH|DETACH)\b/i;

/** Converts a whole number to an integer, because the libraries would bind it as 1.0. */
function toBound(value: SqlValue): SqlValue {
  return typeof value === "number" && Number.isSafeInteger(value) ? BigInt(value) : value;
}

function runPrepared(
  prepared: Prepared,
  values: readonly SqlValue[],
  isSingle: boolean,
  bytes: RemainingBytes = unlimitedBytes,
): QueryResult {
  const { statement } = prepared;
  if (!statement.returnsRows) return { rows: [], changed: statement.run(values) };
  const read = isSingle ? statement.first : statement.all;
  if (!prepared.exact) {
    const rows = read(values, false);
    if (rows !== null && normalizeCells(rows, bytes)) return { rows, changed: 0 };
    prepared.exact = true;
  }
  const rows = read(values, true) ?? [];
  normalizeCells(rows, bytes);
  // RETURNING returns one row for each changed row.
  return { rows, changed: statement.readOnly ? 0 : rows.length };
}

function described(result: QueryResult, prepared: Prepared): QueryResult {
  return { ...result, columns: prepared.columns ?? columnsOf(prepared.statement) };
}

function columnsOf(statement: SqliteStatement): readonly ResultColumn[] {
  const names = statement.returnsRows ? statement.columnNames() : [];
  return names.map((name) => ({ name, type: null }));
}

/** The connection for the work of a transaction: the writing connection until the work ends. */
export class SqliteTransaction implements Connection {
  readonly #writer: SqliteConnection;
  readonly #translated: (error: unknown) => unknown;
  #ended = false;
  /** The error with which SQLite rolled back the whole transaction. */
  #lost: unknown = null;

  /** `translated` converts the library's errors to their common form. */
  constructor(writer: SqliteConnection, translated: (error: unknown) => unknown) {
    this.#writer = writer;
    this.#translated = translated;
  }

  /** Runs one statement. Rejects if the work has ended or SQLite has rolled it back. */
  query(statement: Statement): Promise<QueryResult> {
    if (this.#ended) return Promise.reject(new Error("Cannot query: the transaction has ended"));
    // Without the open transaction, the statement would be committed separately.
    if (this.#lost !== null) return Promise.reject(this.#lost);
    try {
      if (this.#writer.kindOf(statement.text) === "boundary") refuseTransactionBoundary();
      const time = this.#writer.checksTime(statement.text) ? timeInTransaction(statement) : null;
      const result = time === null
        ? this.#writer.run(statement)
        : this.#writer.read(statement, { bytes: unlimitedBytes, time, atOnce: true });
      return Promise.resolve(result);
    } catch (error) {
      const translated = this.#translated(error);
      // After a full disk or a failed write, SQLite has ended the whole transaction.
      if (!this.#writer.inTransaction) this.#lost = translated;
      return Promise.reject(translated);
    }
  }

  /** Rejects all further statements. */
  end(): void {
    this.#ended = true;
  }

  /** Throws if SQLite has rolled back the transaction, even if the work has ignored the error. */
  requireAlive(): void {
    if (this.#lost !== null) throw this.#lost;
  }
}

/** Options of retrying while a SQLite file is busy. */
export interface BusyRetry {
  readonly clock: Clock;
  /** How long a write waits in the queue, and for other processes, in milliseconds. */
  readonly waitLimitMs: number;
  /** Returns true if an error means that another connection holds a lock. */
  readonly isBusy: (error: unknown) => boolean;
  /** Called after an attempt that failed because of a lock. Its promise delays the next attempt. */
  readonly onBusy?: () => Promise<void>;
}

/**
 * Retries while a SQLite file is busy, because another process holds the lock. The service waits
 * here, because the busy timeout of SQLite would block the whole process.
 */
export async function retryWhileBusy<T>(busyRetry: BusyRetry, attempt: () => T): Promise<T> {
  const start = busyRetry.clock.elapsedMs();
  for (let delayMs = 1;; delayMs = nextDelayMs(delayMs)) {
    try {
      return attempt();
    } catch (error) {
      const waitedMs = busyRetry.clock.elapsedMs() - start;
      if (!busyRetry.isBusy(error) || waitedMs >= busyRetry.waitLimitMs) throw error;
      await busyRetry.onBusy?.();
    }
    await sleep(delayMs);
  }
}

/** Doubles the delay, because most locks are held for only a few milliseconds. */
function nextDelayMs(delayMs: number): number {
  return Math.min(2 * delayMs, 16);
}
