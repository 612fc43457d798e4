import type { SqlValue } from "../../../sql/fragment.ts";

/** The interface of the SQLite driver to a SQLite library: better-sqlite3 or `node:sqlite`. */
export interface SqliteLibrary {
  /** The name that claims a file for this library: another library would release its locks. */
  readonly name: string;
  /** Opens a file and loads extensions. If an extension does not load, the error has no code. */
  open(path: string, readOnly: boolean, extensions?: readonly string[]): SqliteHandle;
  /** The module's URL, and the library's name in it, with which a thread imports the library. */
  readonly source: { readonly module: string; readonly name: string };
  /** Returns the code of an error of the library, like `SQLITE_CONSTRAINT_UNIQUE`, or null. */
  errorName(error: unknown): string | null;
}

/** An open connection of a SQLite library. It never waits for a lock. */
export interface SqliteHandle {
  readonly inTransaction: boolean;
  prepare(text: string): SqliteStatement;
  /** Defines a deterministic SQL function with as many parameters as `work`. */
  defineFunction(
    name: string,
    work: (first: unknown, second: unknown, third: unknown) => unknown,
  ): void;
  /** Defines a non-deterministic function, which SQLite calls for every row. It must not throw. */
  defineCheck(name: string, work: (value: unknown) => number | bigint): void;
  /** Defines a function with any number of arguments. Integer arguments and results are bigints. */
  defineFree(name: string, deterministic: boolean, work: (...values: unknown[]) => SqlValue): void;
  /** Defines an aggregate of any number of arguments. Integer arguments and results are bigints. */
  defineAggregate<State>(name: string, work: SqliteAggregate<State>): void;
  close(): void;
}

/** An SQL aggregate function. `result` is also called for a group without rows. */
export interface SqliteAggregate<State> {
  start(): State;
  step(state: State, ...values: unknown[]): State;
  result(state: State): SqlValue;
}

export interface SqliteStatement {
  readonly readOnly: boolean;
  readonly returnsRows: boolean;
  columnNames(): readonly string[];
  /** Runs a statement that returns no rows. Returns the number of rows that it has changed. */
  run(values: readonly SqlValue[]): number;
  /** With `exact`, integers are bigints. Otherwise null if an integer does not fit a number. */
  all(values: readonly SqlValue[], exact: boolean): SqlValue[][] | null;
  /** Runs a statement that returns at most one row. Reads no row after the first. */
  first(values: readonly SqlValue[], exact: boolean): SqlValue[][] | null;
}

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
