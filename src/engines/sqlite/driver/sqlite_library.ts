import type { SqlValue } from "../../../sql/fragment.ts";

/** A SQLite library for the common SQLite driver: better-sqlite3 or `node:sqlite`. */
export interface SqliteLibrary {
  /** The name. Two libraries must not open one file: each would release the other's locks. */
  readonly name: string;
  /** Opens a file and loads extensions. Throws an error without a code if an extension fails. */
  open(path: string, readOnly: boolean, extensions?: readonly string[]): SqliteHandle;
  /** The URL of the library's module, and its name there. A thread imports the library again. */
  readonly source: { readonly module: string; readonly name: string };
  /** Returns the code of a library's error, like `SQLITE_CONSTRAINT_UNIQUE`, or null. */
  errorName(error: unknown): string | null;
}

/** One open connection of a SQLite library. It never waits for a lock. */
export interface SqliteHandle {
  readonly inTransaction: boolean;
  prepare(text: string): SqliteStatement;
  /** Defines a deterministic SQL function with as many parameters as `work`. */
  defineFunction(
    name: string,
    work: (first: unknown, second: unknown, third: unknown) => unknown,
  ): void;
  /** Defines a non-deterministic function that SQLite calls for every row. It must not throw. */
  defineCheck(name: string, work: (value: unknown) => number | bigint): void;
  /** Defines a function of any number of arguments. Integer arguments and results are bigints. */
  defineFree(
    name: string,
    deterministic: boolean,
    work: (...values: unknown[]) => SqlValue,
  ): void;
  /** Defines an aggregate of any number of values for each row. Integers are bigints. */
  defineAggregate<State>(name: string, work: SqliteAggregate<State>): void;
  close(): void;
}

/**
 * An SQL aggregate function for a SQLite library. `start` creates the state of a group. `result` is
 * also called for groups without rows.
 */
export interface SqliteAggregate<State> {
  start(): State;
  step(state: State, ...values: unknown[]): State;
  result(state: State): SqlValue;
}

export interface SqliteStatement {
  /** True if the statement changes nothing in the database. */
  readonly readOnly: boolean;
  readonly returnsRows: boolean;
  columnNames(): readonly string[];
  /** Runs a statement without rows. Returns the number of changed rows. */
  run(values: readonly SqlValue[]): number;
  /**
   * Runs a statement with rows. With `exact`, every integer is a bigint. Without `exact`, the
   * result is null if the library cannot return an integer as a number.
   */
  all(values: readonly SqlValue[], exact: boolean): SqlValue[][] | null;
  /** Runs a statement with at most one row. Rows after the first are not read. */
  first(values: readonly SqlValue[], exact: boolean): SqlValue[][] | null;
}

/** Loads extensions into an open database. Closes the database if an extension cannot be loaded. */
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
