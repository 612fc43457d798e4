import type { SqlValue } from "../../../sql/fragment.ts";

export interface SqliteLibrary {
  /** The name by which a library claims a file: two libraries would release each other's locks. */
  readonly name: string;
  /** Opens a file and loads extensions. If an extension does not load, the error has no code. */
  open(path: string, readOnly: boolean, extensions?: readonly string[]): SqliteHandle;
  readonly source: { readonly module: string; readonly name: string };
  errorName(error: unknown): string | null;
}

/** An open connection of a SQLite library. It never waits for a lock. */
export interface SqliteHandle {
  readonly inTransaction: boolean;
  prepare(text: string): SqliteStatement;
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
  run(values: readonly SqlValue[]): number;
  /** Integers are bigints if `exact`. If not, an integer over a number's range makes it null. */
  all(values: readonly SqlValue[], exact: boolean): SqlValue[][] | null;
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
