import type { Dialect } from "../sql/dialect.ts";
import type { SqlValue, Statement } from "../sql/fragment.ts";

/** The rows of a statement, as arrays in the order of its select list, and how many it touched. */
export interface QueryResult {
  /** One array for each row. */
  readonly rows: readonly (readonly SqlValue[])[];
  /** Rows inserted, updated or deleted; 0 for a read. */
  readonly changed: number;
}

/** What can run a statement: a driver, or the transaction that a unit of work is in. */
export interface Connection {
  /** Runs one statement. Rejects with a {@link DatabaseError}. */
  query(statement: Statement): Promise<QueryResult>;
}

/**
 * One database, whatever library reaches it. Every driver passes the conformance suite in
 * `tests/conformance/driver.ts`. Foreign errors leave a driver as a {@link DatabaseError}.
 */
export interface Driver extends Connection {
  /** What the engine does in its own way. */
  readonly dialect: Dialect;
  /** What to show a person: scheme and place, never a password. */
  readonly label: string;
  /**
   * Runs `work` in a transaction: commits when it resolves, rolls back when it throws. Using the
   * driver itself inside `work` fails at once instead of deadlocking.
   */
  transaction<T>(work: (connection: Connection) => Promise<T>): Promise<T>;
  /**
   * Calls back behind what this driver has committed, or may have: several commits may share a
   * call. The answer ends that.
   */
  onCommit(listener: () => void): () => void;
  /** Whether other processes may write to the database. */
  readonly isShared: boolean;
  /** Between the processes that use the database; null where it carries no signals. */
  readonly signals: Signals | null;
  /** Lets running work end, then lets go of the database. */
  close(): Promise<void>;
}

/** A way to wake other processes. It may lose what it is given: who waits looks by itself, too. */
export interface Signals {
  /**
   * Calls back for each signal of another process, and whenever some may have been missed. A lost
   * connection is made again. `isAlone` says that commits close behind may have sent none.
   */
  listen(heard: (isAlone: boolean) => void): SignalChannel;
}

/** The end of a line between processes. */
export interface SignalChannel {
  /** Wakes the others, outside of every transaction. Never throws. */
  send(): void;
  /** Hears no more. */
  close(): Promise<void>;
}
