import type { SqlValue } from "../../../sql/fragment.ts";

/** A SQLite library as the common SQLite driver needs it: better-sqlite3 or `node:sqlite`. */
export interface SqliteLibrary {
  /** Distinguishes the libraries: two of them must never open one file. */
  readonly name: string;
  /** Loads `extensions`, of absolute paths; throws an error without a code where it cannot. */
  open(path: string, readOnly: boolean, extensions?: readonly string[]): SqliteHandle;
  /** The URL of its module, and its name there: a thread imports it once more. */
  readonly source: { readonly module: string; readonly name: string };
  /** The result code of a library's error, e.g. `SQLITE_CONSTRAINT_UNIQUE`; null for other errors. */
  errorName(error: unknown): string | null;
}

/** One open connection of a SQLite library. It never waits for a lock. */
export interface SqliteHandle {
  readonly inTransaction: boolean;
  prepare(text: string): SqliteStatement;
  /** The SQL function has as many parameters as `work`, and the same result for the same values. */
  defineFunction(
    name: string,
    work: (first: unknown, second: unknown, third: unknown) => unknown,
  ): void;
  /** An SQL function that is called for every row, whatever its results were. It must not throw. */
  defineCheck(name: string, work: (value: unknown) => number | bigint): void;
  /** A function of any number of arguments. Integers are bigints in both directions. */
  defineFree(
    name: string,
    deterministic: boolean,
    work: (...values: unknown[]) => SqlValue,
  ): void;
  /** An aggregate function of any number of values for each row. Integers are bigints. */
  defineAggregate<State>(name: string, work: SqliteAggregate<State>): void;
  close(): void;
}

/**
 * An aggregate function of SQL for a SQLite library: `start` makes the state of a group; `result`
 * is called for groups without rows, too.
 */
export interface SqliteAggregate<State> {
  start(): State;
  step(state: State, ...values: unknown[]): State;
  result(state: State): SqlValue;
}

/** A prepared statement of a SQLite library. */
export interface SqliteStatement {
  /** True if it changes nothing in the database. */
  readonly readOnly: boolean;
  readonly returnsRows: boolean;
  /** The names of the columns of its rows. */
  columnNames(): readonly string[];
  /** Runs a statement without rows; gives how many rows it changed. */
  run(values: readonly SqlValue[]): number;
  /**
   * Runs a statement with rows. `exact` gives every integer as a bigint; without it the result is
   * null if the library refuses to give an integer as a number.
   */
  all(values: readonly SqlValue[], exact: boolean): SqlValue[][] | null;
  /** The same for a statement that gives one row at most, whose rows after the first are not read. */
  first(values: readonly SqlValue[], exact: boolean): SqlValue[][] | null;
}

/** Loads extensions into an open database of a library, which is closed where one cannot be loaded. */
export function loadExtensions(
  database: { loadExtension(path: string): void; close(): void },
  extensions: readonly string[],
): void {
  for (const path of extensions) {
    try {
      database.loadExtension(path);
    } catch (cause) {
      database.close();
      const reason = cause instanceof Error ? cause.message : String(cause);
      throw new Error(`Cannot load the extension ${path}: ${reason}`, { cause });
    }
  }
}
