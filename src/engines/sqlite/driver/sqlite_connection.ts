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
import { type Clock, sleep } from "../../../runtime/runtime.ts";

/** A connection to a SQLite file. Its methods throw the library's errors. */
export interface SqliteConnection {
  readonly inTransaction: boolean;
  kindOf(text: string): StatementKind;
  /** Returns true if a statement has time checks. Without time checks, it cannot be aborted. */
  checksTime(text: string): boolean;
  run(statement: Statement): QueryResult;
  /** Runs a statement that only reads. Throws `too-large` if the rows have too many bytes. */
  read(statement: Statement, how: LimitedRead): QueryResult;
  /** Returns the length of the longest value that was bound since the last call. */
  takeMaxBoundLength(): number;
  close(): void;
}

export interface StatementLimitChecks {
  readonly deadline: StatementDeadline;
  readonly rowBytes: RowBytes;
}

export interface LimitedRead {
  readonly bytes: RemainingBytes;
  readonly time: TimeLimit;
  /** True to read all rows together, which is faster. Their bytes are counted afterwards. */
  readonly atOnce: boolean;
  /** True if the read is certainly short, so that it needs no time checks. */
  readonly isShort?: boolean;
}

export type StatementKind =
  | "read"
  | "write"
  /** A write that SQLite rejects or ignores in a transaction. */
  | "alone"
  | "boundary";

export const maxPreparedStatements = 500;

/** The maximum size of cached prepared statements, in bytes. Clients can send long filters. */
const maxPreparedBytes = 32 * 1024 * 1024;

/** The estimated size of a prepared statement, in bytes for each character of its SQL. */
const bytesPerCharacter = 32;

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
    takeMaxBoundLength() {
      const length = maxBoundLength;
      maxBoundLength = 0;
      return length;
    },
    close: () => handle.close(),
  };
}

function statementCache(handle: SqliteHandle) {
  const cache = boundedMap<string, Prepared>(maxPreparedStatements, {
    maxBytes: maxPreparedBytes,
    bytesOf: (text) => bytesPerCharacter * text.length,
  });

  function prepared(text: string): Prepared {
    const known = cache.get(text);
    if (known !== undefined) return known;
    const start = withoutLeadingComments(text);
    // With an empty statement, node:sqlite would crash (segmentation fault).
    if (start === "") throw new Error("Cannot run an empty statement");
    const statement = handle.prepare(text);
    // A read that rounded an integer runs again. A write cannot run twice, so it reads bigints.
    const fresh: Prepared = {
      statement,
      kind: statementKind(start, statement.readOnly),
      exact: !statement.readOnly,
      // After ALTER TABLE, a cached statement with `*` can return other columns.
      columns: text.includes("*") ? null : columnsOf(statement),
      sorts: sorting.test(text),
      checksTime: text.includes(timeCheckFunctionName),
      short: null,
    };
    // SQLite crashes if a prepared EXPLAIN runs after its tables were altered.
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
    // With exact integers, the statement never runs a second time, which would count bytes twice.
    counted.exact = true;
    return counted;
  }

  return { prepared, shortOf, countedBy };
}

interface Prepared {
  readonly statement: SqliteStatement;
  readonly kind: StatementKind;
  /** True to read integers as bigints, after an integer was too large for a number. */
  exact: boolean;
  /** The columns of the result, or null if ALTER TABLE can change them because of a `*`. */
  readonly columns: readonly ResultColumn[] | null;
  readonly sorts: boolean;
  readonly checksTime: boolean;
  short: Prepared | null;
}

const sorting = /\b(?:GROUP BY|OVER)\b/;

function statementKind(start: string, readOnly: boolean): StatementKind {
  const keyword = firstWords.exec(start)?.[0] ?? "";
  if (boundaries.test(keyword)) return "boundary";
  if (readOnly) return settings.test(start) ? "alone" : "read";
  return outsideOfTransactions.test(keyword) ? "alone" : "write";
}

const explains = /^EXPLAIN\b/i;
const firstWords = /^\w+(?:\s+\w+){0,2}/;
/** Matches statements that begin or end transactions, but not the statements for savepoints. */
const boundaries = /^(?:BEGIN|COMMIT|END|ROLLBACK(?!\s+(?:TRANSACTION\s+)?TO))\b/i;
/** Matches a PRAGMA that changes the effect of writes, unlike `cache_size`, which tunes reads. */
const settings =
  /^PRAGMA\s+(?:\w+\.)?(?:(?:defer_)?foreign_keys|ignore_check_constraints|legacy_alter_table|query_only|recursive_triggers|secure_delete|synchronous|trusted_schema|writable_schema)\s*[=(]/i;
const outsideOfTransactions = /^(?:VACUUM|PRAGMA|ATTACH|DETACH)\b/i;

/** Converts a whole number to a bigint, because the libraries would bind 1 as 1.0. */
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
  return { rows, changed: statement.readOnly ? 0 : rows.length };
}

function described(result: QueryResult, prepared: Prepared): QueryResult {
  return { ...result, columns: prepared.columns ?? columnsOf(prepared.statement) };
}

function columnsOf(statement: SqliteStatement): readonly ResultColumn[] {
  const names = statement.returnsRows ? statement.columnNames() : [];
  return names.map((name) => ({ name, type: null }));
}

export class SqliteTransaction implements Connection {
  readonly #writer: SqliteConnection;
  readonly #translated: (error: unknown) => unknown;
  #ended = false;
  #lost: unknown = null;

  constructor(writer: SqliteConnection, translated: (error: unknown) => unknown) {
    this.#writer = writer;
    this.#translated = translated;
  }

  query(statement: Statement): Promise<QueryResult> {
    if (this.#ended) return Promise.reject(new Error("Cannot query: the transaction has ended"));
    // The transaction is already rolled back, so the statement would be committed separately.
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
      // After a full disk or a failed write, SQLite rolls back the whole transaction.
      if (!this.#writer.inTransaction) this.#lost = translated;
      return Promise.reject(translated);
    }
  }

  end(): void {
    this.#ended = true;
  }

  /** Throws if SQLite has rolled back the transaction, even if the work ignored the error. */
  requireAlive(): void {
    if (this.#lost !== null) throw this.#lost;
  }
}

export interface BusyRetry {
  readonly clock: Clock;
  /** How long a write can wait in the queue, and for other processes, in milliseconds. */
  readonly waitLimitMs: number;
  readonly isBusy: (error: unknown) => boolean;
  /** Called when an attempt fails because of a lock. The next attempt waits for the promise. */
  readonly onBusy?: () => Promise<void>;
}

/** Repeats an attempt while a file is locked. SQLite's busy timeout would block the process. */
export async function retryWhileBusy<T>(busyRetry: BusyRetry, attempt: () => T): Promise<T> {
  const start = busyRetry.clock.elapsedMs();
  for (let delayMs = 1;; delayMs = Math.min(2 * delayMs, 16)) {
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
