import type { SqlValue } from "../../sql/fragment.ts";

/** What the SQLite driver needs of a library: all that differs between the two stands here. */
export interface SqliteLibrary {
  /** Two libraries must never open one file; this tells them apart. */
  readonly name: string;
  open(path: string, readOnly: boolean): SqliteHandle;
  /** The result code of a library's error, e.g. `SQLITE_CONSTRAINT_UNIQUE`; null for other errors. */
  errorName(error: unknown): string | null;
}

/** One open connection. It never waits for a lock by itself. */
export interface SqliteHandle {
  readonly inTransaction: boolean;
  prepare(text: string): SqliteStatement;
  /** It takes as many values as `work` names. */
  defineFunction(
    name: string,
    work: (first: unknown, second: unknown, third: unknown) => unknown,
  ): void;
  /** A function over all the rows of a group, of one value each. */
  defineAggregate<State>(name: string, work: SqliteAggregate<State>): void;
  close(): void;
}

/** `start` makes the state for a group, `result` is asked for groups without rows too. */
export interface SqliteAggregate<State> {
  start(): State;
  step(state: State, value: unknown): State;
  result(state: State): SqlValue;
}

/** A prepared statement. */
export interface SqliteStatement {
  /** Whether it leaves the database as it is. */
  readonly readOnly: boolean;
  readonly returnsRows: boolean;
  /** Runs a statement without rows; gives how many rows it changed. */
  run(values: readonly SqlValue[]): number;
  /**
   * Runs a statement with rows. `exact` gives every integer as a bigint; otherwise null says that
   * the library refuses to give an integer as a number.
   */
  all(values: readonly SqlValue[], exact: boolean): SqlValue[][] | null;
}
