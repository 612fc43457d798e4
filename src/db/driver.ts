import type { TableInfo } from "../schema/table_info.ts";
import type { Observer } from "../runtime/observation.ts";
import type { MaybePromise } from "../runtime/maybe_promise.ts";
import type { Dialect } from "../sql/dialect.ts";
import type { SqlValue, Statement } from "../sql/fragment.ts";

/**
 * The result of a query on a driver: the rows, as arrays in the order of the select list, and how
 * many rows it changed.
 */
export interface QueryResult {
  /** One array for each row. */
  readonly rows: readonly (readonly SqlValue[])[];
  /** Rows inserted, updated or deleted; 0 for a read. */
  readonly changed: number;
  /** The columns in the order of the select list, for a statement with `describe`. */
  readonly columns?: readonly ResultColumn[];
}

/** A column of a query's result. */
export interface ResultColumn {
  /** Its name, as the engine gives it. */
  readonly name: string;
  /** The type of its values, as the engine numbers types; null if values have types by themselves. */
  readonly type: number | null;
}

/** The part of a driver that runs statements: the driver itself, or an open transaction. */
export interface Connection {
  /**
   * Runs one statement: gives its result, or a promise where that is not there at once. Never throws,
   * but rejects, with a {@link DatabaseError}.
   */
  query(statement: Statement): MaybePromise<QueryResult>;
}

/** The limits of the reads of one request: what they may cost the database and this process. */
export interface ReadLimits {
  /** The user or the address that reads: where reads wait for their turn, each has a share. */
  readonly identity: string;
  /** Aborted when the client has left, which ends its reads. */
  readonly signal: AbortSignal;
  /** The most bytes that the cells of all rows may have together, those of every statement. */
  readonly maxBytes: number;
  /** How long one statement may run. */
  readonly timeoutMs: number;
  /** True if it is known to take long, so that it is not tried in this thread first. */
  readonly isLong?: boolean;
}

/**
 * The driver of one database, the same interface for every engine and library. Every driver passes
 * the conformance suite in `tests/conformance/driver.ts`. Foreign errors leave a driver as a {@link
 * DatabaseError}.
 */
export interface Driver extends Connection {
  /** What differs between the engines. */
  readonly dialect: Dialect;
  /** For messages: the scheme and the path or host, never a password. */
  readonly label: string;
  /**
   * Returns a connection for the reads of one request, which may look at many rows. Beyond its limits
   * a read rejects: `too-slow`, `too-large`, or `overloaded` where too many wait for their turn. It
   * takes nothing from what is read by key and written on the driver itself.
   */
  reads(limits: ReadLimits): Connection;
  /**
   * Runs `work` in a transaction: commits when it resolves, rolls back when it throws. Using the
   * driver itself inside `work` fails at once instead of deadlocking.
   */
  transaction<T>(work: (connection: Connection) => MaybePromise<T>): Promise<T>;
  /**
   * Runs `work`, which changes the tables themselves, in a transaction of its own; absent where a
   * transaction can do that as it is. In SQLite no foreign key is enforced in it, so that a table can
   * be made again.
   */
  restructure?<T>(work: (connection: Connection) => MaybePromise<T>): Promise<T>;
  /**
   * Calls `listener` after this driver has committed, or may have: several commits may share a
   * call. The function that it returns removes the listener.
   */
  onCommit(listener: () => void): () => void;
  /** True if other processes may write to the database. */
  readonly isShared: boolean;
  /** Signals to the other processes that use the database; null if it carries none. */
  readonly signals: Signals | null;
  /**
   * The tables that were created through it: they are as they are declared, which the start need not
   * check.
   */
  readonly created?: WeakSet<TableInfo> | undefined;
  /** Threads that it reads in, where it has some. */
  readonly threads?: DriverThreads;
  /** What its connections are used for; absent where it has no pool of them. */
  poolUsage?(): PoolUsage;
  /** From now on reports to this observer what fails in it and fails no request. */
  observeBy?(observe: Observer): void;
  /** Waits for running work, then closes the database. */
  close(): Promise<void>;
}

/** How a pool of connections is used. */
export interface PoolUsage {
  /** How many connections it has. */
  readonly size: number;
  /** How many of them are in use. */
  readonly used: number;
  /** How many uses wait for one. */
  readonly waiting: number;
  /** How many have waited since it was opened. */
  readonly waits: number;
  /** How long those have waited together. */
  readonly waitedMs: number;
}

/** The threads that a driver reads in. Unless started they start when a read needs them. */
export interface DriverThreads {
  /** Starts them now, so that no request waits for that. Resolves when they can read, or have failed. */
  start(): Promise<void>;
}

/**
 * The part of a driver that wakes the other processes which use the database, where the engine can.
 * A signal may be lost, so that listeners poll as well.
 */
export interface Signals {
  /**
   * Calls `onSignal` for each signal of another process, and whenever some may have been missed. A
   * lost connection is opened again. `isAlone` says that commits soon after may send no signal.
   */
  listen(onSignal: (isAlone: boolean) => void): SignalChannel;
}

/**
 * The channel that a driver opens for signals between processes, to send them and to stop
 * listening.
 */
export interface SignalChannel {
  /** Wakes the other processes, outside of every transaction. Never throws. */
  send(): void;
  /** Stops listening. */
  close(): Promise<void>;
}
