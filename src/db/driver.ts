import type { TableInfo } from "../schema/table_info.ts";
import type { Observer } from "../runtime/runtime.ts";
import type { MaybePromise } from "../runtime/maybe_promise.ts";
import type { Dialect } from "../sql/dialect.ts";
import type { SqlValue, Statement } from "../sql/fragment.ts";

/** The result of a query: rows as arrays in select-list order, and the number of changed rows. */
export interface QueryResult {
  /** One array for each row. */
  readonly rows: readonly (readonly SqlValue[])[];
  /** The number of rows inserted, updated or deleted. 0 for a read. */
  readonly changed: number;
  /** The columns in the order of the select list, for a statement with `describe`. */
  readonly columns?: readonly ResultColumn[];
}

/** A column of a query's result. */
export interface ResultColumn {
  /** The name of the column, as the engine returns it. */
  readonly name: string;
  /** The engine's number for the type of the column, or null if only values have types (SQLite). */
  readonly type: number | null;
}

/** An object that runs statements: the driver itself, or an open transaction. */
export interface Connection {
  /**
   * Runs one statement. Returns the result, or a promise if the result is not immediately
   * available. Never throws, but rejects with a {@link DatabaseError}.
   */
  query(statement: Statement): MaybePromise<QueryResult>;
}

/** The database role with which statements run, and the settings that row policies read. */
export interface DatabaseIdentity {
  /** The name of the role. */
  readonly role: string;
  /** The values of the settings, by their names, such as `request.jwt.claims`. */
  readonly settings: Readonly<Record<string, string>>;
  /** True if the service runs its own statements with this role instead of the login role. */
  readonly isSystem?: boolean;
}

/** The limits of the time and the memory that the reads of one request can use. */
export interface ReadLimits {
  /** The user or address that reads. One identity can have at most half of the queued reads. */
  readonly identity: string;
  /** Aborted when the client disconnects, which ends the reads. */
  readonly signal: AbortSignal;
  /** The maximum number of bytes in all cells that the request's statements return together. */
  readonly maxBytes: number;
  /** The time limit of one statement, in milliseconds. */
  readonly timeoutMs: number;
  /** True if the read is known to be slow. The driver then runs it in a thread from the start. */
  readonly isLong?: boolean;
  /** True if a replica may run the read. A read before a write needs the primary. */
  readonly allowsReplica?: boolean;
}

/**
 * The driver of one database, with the same interface for every engine and library. Every driver
 * passes the conformance suite in `tests/conformance/driver.ts`. A driver translates all errors of
 * its library to a {@link DatabaseError}.
 */
export interface Driver extends Connection {
  /** The SQL dialect and other properties of the engine. */
  readonly dialect: Dialect;
  /** The scheme of the URL and the path or host, for messages. Never contains a password. */
  readonly label: string;
  /**
   * Returns a connection for those reads of one request that can examine many rows. A read rejects
   * as `too-slow` or `too-large` if it exceeds a limit, or as `overloaded` if too many reads wait.
   * These reads do not delay the statements that run on the driver itself: reads by key and writes.
   */
  reads(limits: ReadLimits): Connection;
  /** Runs writes of one statement, which can share a commit. Absent if `query` does this itself. */
  readonly loneWrites?: Connection;
  /** Runs `work` in a transaction. Using the driver itself inside `work` throws immediately. */
  transaction<T>(work: (connection: Connection) => MaybePromise<T>): Promise<T>;
  /** Runs `work` when the limit of concurrent `reads` allows it. Absent without such a limit. */
  limited?<T>(limits: ReadLimits, work: () => Promise<T>): Promise<T>;
  /** Returns a driver with an identity's role and settings. Absent if the engine has no roles. */
  as?(identity: DatabaseIdentity): Driver;
  /** The service's own driver, if this driver has the role of a user or is inside a transaction. */
  readonly base?: Driver;
  /** Like `transaction`, with foreign keys off. Absent if `transaction` can alter tables. */
  restructure?<T>(work: (connection: Connection) => MaybePromise<T>): Promise<T>;
  /** Calls `listener` after commits, even of unknown outcome. Returns a function to remove it. */
  onCommit(listener: () => void): () => void;
  /** True if other processes can write to the database. */
  readonly isShared: boolean;
  /** True if a pooler can run each transaction on another connection. Absent without a pooler. */
  readonly isPooled?: boolean;
  /** The signals between processes that use the database, or null if the engine has no signals. */
  readonly signals: Signals | null;
  /** The signals by which other programs report schema changes. Absent without such signals. */
  readonly schemaSignals?: Pick<Signals, "listen"> | undefined;
  /** The tables that this driver has created. The check of the tables at startup skips them. */
  readonly created?: WeakSet<TableInfo> | undefined;
  /** The threads in which the driver reads. Absent if the driver has none. */
  readonly threads?: DriverThreads;
  /** Replaces connections whose cached plans rely on rights that a role has lost. */
  renewConnections?(): void;
  /** The servers that run reads in place of the primary. Absent without such servers. */
  readonly replicas?: readonly DriverReplica[];
  /** Returns the use of the driver's pool of connections. Absent if the driver has no pool. */
  poolUsage?(): PoolUsage;
  /** Sets the observer of errors that do not make a request fail. */
  observeBy?(observe: Observer): void;
  /** Waits for running work, then closes the database. */
  close(): Promise<void>;
}

/** A server that runs reads in place of the primary. */
export interface DriverReplica {
  /** The driver of the server. It refuses writes. */
  readonly driver: Driver;
  /** The reads since the database was opened. */
  readonly counts: ReplicaCounts;
  /** Rejects if the server cannot run reads now. */
  check(): Promise<void>;
}

/** How many reads a replica ran, and how many of its reads the primary ran instead. */
export interface ReplicaCounts {
  /** The reads that the replica ran. */
  read: number;
  /** The reads that waited in vain for the replica to receive the changes of the primary. */
  late: number;
  /** The reads that failed on the replica. */
  failed: number;
}

/** The use of a pool of connections. */
export interface PoolUsage {
  /** The number of connections in the pool. */
  readonly size: number;
  /** The number of connections in use. */
  readonly used: number;
  /** The number of waiting requests for a connection. */
  readonly waiting: number;
  /** How many times a statement had to wait for a connection since the pool was opened. */
  readonly waits: number;
  /** The total duration of these waits, in milliseconds. */
  readonly waitedMs: number;
}

/** The threads in which a driver reads. They start when `start` is called or a read needs them. */
export interface DriverThreads {
  /** Starts the threads before a request needs them. Resolves when they can read or have failed. */
  start(): Promise<void>;
}

/** Signals that wake other processes of a database. Signals can be lost, so listeners also poll. */
export interface Signals {
  /**
   * Calls `onSignal` for each signal of another process, and after signals may have been missed.
   * Reconnects automatically. `isAlone` is true for a trigger's signal, which can be the only
   * signal for several concurrent transactions.
   */
  listen(onSignal: (isAlone: boolean) => void): SignalChannel;
}

/** The channel of a driver for signals between processes. */
export interface SignalChannel {
  /** Wakes the other processes, outside of every transaction. Never throws. */
  send(): void;
  /** Stops listening. */
  close(): Promise<void>;
}
