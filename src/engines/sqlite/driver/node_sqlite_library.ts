import { DatabaseSync } from "node:sqlite";
import type { SqlValue } from "../../../sql/fragment.ts";
import { DatabaseError } from "../../../db/database_error.ts";
import { withoutLeadingComments } from "./statement_start.ts";
import { resultCodeName } from "./sqlite_errors.ts";
import {
  loadExtensions,
  type SqliteHandle,
  type SqliteLibrary,
  type SqliteStatement,
} from "./sqlite_library.ts";

export const nodeSqlite: SqliteLibrary = {
  name: "node:sqlite",
  source: { module: import.meta.url, name: "nodeSqlite" },
  open: opener(false),
  errorName(error) {
    const code = error instanceof Error && "errcode" in error ? error.errcode : null;
    return typeof code === "number" ? resultCodeName(code) : null;
  },
};

/** Accepts strings in double quotes, which triggers and views of old files can contain. */
export const nodeSqliteWithStrings: SqliteLibrary = {
  ...nodeSqlite,
  source: { module: import.meta.url, name: "nodeSqliteWithStrings" },
  open: opener(true),
};

function opener(enableDoubleQuotedStringLiterals: boolean): SqliteLibrary["open"] {
  return (path, readOnly, extensions = []) => {
    const options = { readOnly, timeout: 0, allowExtension: extensions.length > 0 };
    const database = new DatabaseSync(path, { ...options, enableDoubleQuotedStringLiterals });
    loadExtensions(database, extensions);
    return handleOf(database);
  };
}

export function pathOfNodeSqlite(client: object): string | null {
  if (!(client instanceof DatabaseSync)) {
    throw new Error("Cannot open the file of this client: it is no DatabaseSync of node:sqlite");
  }
  // `location` exists in Deno, but not in its type declarations.
  const path = (client as unknown as { location(): string | null }).location();
  return path === "" ? null : path;
}

function handleOf(database: DatabaseSync): SqliteHandle {
  const failed: Failed = { error: null };
  return {
    get inTransaction() {
      return database.isTransaction;
    },
    // `setReturnArrays` exists in Deno, but not in its type declarations.
    prepare: (text) =>
      statementOf(database.prepare(text) as unknown as Statement, database, failed),
    defineFunction: (name, work) => {
      // Without bigint arguments, Deno hangs if a number cannot represent an argument.
      const options = { deterministic: true, useBigIntArguments: true };
      // The declared result type is narrower than `unknown`, but these functions return SQL values.
      database.function(name, options, work as () => SqlValue);
    },
    defineCheck: (name, work) => database.function(name, { deterministic: false }, work),
    defineFree(name, deterministic, work) {
      const options = { deterministic, useBigIntArguments: true, varargs: true };
      const kept = (...values: unknown[]) => keepFailure(failed, () => work(...values), noValue);
      // The declared argument types are narrower, but the library passes any SQL value.
      database.function(name, options, kept as () => SqlValue);
    },
    defineAggregate(name, { start, step, result }) {
      const options = { useBigIntArguments: true, varargs: true };
      aggregating(database).aggregate(name, {
        ...options,
        start: () => keepFailure(failed, start, null),
        step: (state, ...values) => keepFailure(failed, () => step(state, ...values), state),
        result: (state) =>
          failed.error === null ? keepFailure(failed, () => result(state), noValue) : noValue,
      });
    },
    close: () => database.close(),
  };
}

interface Failed {
  error: unknown;
}

/** An SQL function returns this symbol to make its statement fail: a symbol is no SQL value. */
const noValue: unique symbol = Symbol("no value");

/** Catches and keeps an error of a function. A thrown error would make the library's `all` hang. */
function keepFailure<T, Otherwise>(failed: Failed, work: () => T, otherwise: Otherwise) {
  try {
    return work();
  } catch (error) {
    failed.error ??= error;
    return otherwise;
  }
}

interface Aggregating {
  aggregate(name: string, work: LibraryAggregate): void;
}

interface LibraryAggregate {
  readonly useBigIntArguments: boolean;
  readonly varargs: boolean;
  start(): unknown;
  step(state: never, ...values: unknown[]): unknown;
  result(state: never): SqlValue | typeof noValue;
}

function aggregating(database: DatabaseSync): Aggregating {
  // `aggregate` exists in Deno, but not in its type declarations.
  return database as unknown as Aggregating;
}

interface Statement {
  readonly sourceSQL: string;
  columns(): readonly { readonly name: string }[];
  setReturnArrays(on: boolean): void;
  setReadBigInts(on: boolean): void;
  all(...values: readonly SqlValue[]): SqlValue[][];
  run(...values: readonly SqlValue[]): { readonly changes: number | bigint };
}

function statementOf(
  statement: Statement,
  database: DatabaseSync,
  failed: Failed,
): SqliteStatement {
  const text = statement.sourceSQL;
  const countsChanges = /^(insert|update|delete|replace|with)\b/i.test(
    withoutLeadingComments(text),
  );
  statement.setReturnArrays(true);
  let isExact = false;
  function readAll(values: readonly SqlValue[], exact: boolean): SqlValue[][] | null {
    refuseNul(values);
    if (exact !== isExact) statement.setReadBigInts(isExact = exact);
    try {
      return running(() => statement.all(...values));
    } catch (error) {
      if (!exact && isOutOfRange(error)) return null;
      throw error;
    }
  }
  function running<T>(run: () => T): T {
    failed.error = null;
    try {
      return run();
    } catch (error) {
      throw failed.error ?? error;
    }
  }
  return {
    readOnly: !writes(database, text),
    returnsRows: statement.columns().length > 0,
    columnNames: () => statement.columns().map(({ name }) => name),
    run(values) {
      refuseNul(values);
      const { changes } = running(() => statement.run(...values));
      // After a statement that counts no changes, the library returns an earlier statement's count.
      return countsChanges ? Number(changes) : 0;
    },
    all: readAll,
    first: readAll,
  };
}

/** Returns true if a statement writes, which only its bytecode shows. */
function writes(database: DatabaseSync, text: string): boolean {
  if (/^explain\b/i.test(withoutLeadingComments(text))) return false;
  const explain = database.prepare(`EXPLAIN ${withoutLeadingComments(text)}`);
  return explain.all().some(({ opcode, p2 }) =>
    opcode === "Transaction" ? p2 !== 0 : typeof opcode === "string" && writing.has(opcode)
  );
}

const writing: ReadonlySet<string> = new Set(["Vacuum", "JournalMode", "Checkpoint"]);

function refuseNul(values: readonly SqlValue[]): void {
  for (const value of values) {
    if (typeof value === "string" && value.includes("\0")) {
      throw new DatabaseError("invalid-value", new Error("Cannot bind text with a NUL character"));
    }
  }
}

function isOutOfRange(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "ERR_OUT_OF_RANGE";
}
