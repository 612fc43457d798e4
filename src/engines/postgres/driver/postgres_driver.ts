import type { MaybePromise } from "../../../runtime/maybe_promise.ts";
import { type Clock, type Deadline, deadline } from "../../../runtime/runtime.ts";
import type { TableInfo } from "../../../schema/table_info.ts";
import type { Dialect } from "../../../sql/dialect.ts";
import type { Statement } from "../../../sql/fragment.ts";
import { postgresDialect } from "../sql/dialect.ts";
import { postgresText } from "../sql/text_operators.ts";
import { DatabaseError } from "../../../db/database_error.ts";
import type {
  Connection,
  DatabaseIdentity,
  Driver,
  DriverReplica,
  PoolUsage,
  QueryResult,
  ReadLimits,
  Signals,
} from "../../../db/driver.ts";
import { maxWaitingReads, ReadLimiter } from "../../../db/read_limiter.ts";
import { createPool, type Pool } from "./connection_pool.ts";
import type { PostgresSession } from "./postgres_connection.ts";
import { PostgresReads } from "./postgres_reads.ts";
import { runStatement, translate, whenOpen } from "./run_statement.ts";
import { maxRunningReads, SharedReads, slowMs } from "./shared_reads.ts";
import { SharedWrites } from "./shared_writes.ts";
import { ActingDriver, type ActingDriverParts } from "./transactions/acting_driver.ts";
import { begin, runTransaction } from "./transactions/postgres_transaction.ts";
import { commitListeners, transactionGuard } from "../../../db/transact.ts";
import { Replicas, type ReplicasOptions } from "../replicas/replicas.ts";

export interface PostgresDriverOptions
  extends Pick<Driver, "label" | "isShared" | "signals" | "schemaSignals"> {
  readonly sessions: readonly PostgresSession[];
  /** The maximum number of sessions that run reads which can examine many rows. */
  readonly maxReads: number;
  /** The time limit for getting a session and beginning a transaction, in milliseconds. */
  readonly waitLimitMs: number;
  readonly raisedMessages?: boolean;
  readonly clock: Clock;
  readonly isPooled?: boolean;
  /** True if a connection can send several statements before the first response. Default: false. */
  readonly pipelines?: boolean;
  /** Replaces each connection before its next use. Absent if connections cache no query plans. */
  readonly renewConnections?: () => void;
  readonly close: () => Promise<void>;
  /** The drivers of standby servers, and the function that reports why a standby runs no reads. */
  readonly replicas?: Pick<ReplicasOptions, "drivers" | "notice"> | undefined;
}

/** The sessions besides `maxReads`: two for quick reads, one for reads by key, one for writes. */
const reservedSessions = 4;

export function postgresDriver(options: PostgresDriverOptions): Driver {
  return new PostgresDriver(options);
}

class PostgresDriver implements Driver {
  readonly dialect: Dialect = postgresDialect({ text: postgresText });
  readonly label: string;
  readonly isShared: boolean;
  readonly isPooled: boolean;
  readonly signals: Signals | null;
  readonly schemaSignals: Driver["schemaSignals"];
  readonly created: WeakSet<TableInfo> = new WeakSet();
  readonly loneWrites: Connection;
  readonly replicas: readonly DriverReplica[];
  readonly #options: PostgresDriverOptions;
  readonly #pool: Pool<PostgresSession>;
  readonly #parts: ActingDriverParts;
  #closing: Promise<void> | null = null;

  constructor(options: PostgresDriverOptions) {
    this.#options = options;
    this.#pool = createPool(options.sessions, options.waitLimitMs, options.clock);
    const pipelines = options.pipelines === true;
    const parts = {
      guard: transactionGuard(),
      commits: commitListeners(),
      pool: this.#pool,
      limit: () => this.#limit(),
      connect: whenOpen,
      clock: options.clock,
      raisedMessages: options.raisedMessages ?? true,
      pipelines,
    };
    const limiter = (maxRunning: number) =>
      new ReadLimiter({ ...options, maxRunning, maxWaiting: maxWaitingReads });
    // Reads by key have their own queue, so that they do not wait for lists, which can take longer.
    const shared = (assumedMs: number) => pipelines ? new SharedReads(parts, assumedMs) : null;
    const hasSessions = options.sessions.length >= options.maxReads + reservedSessions;
    const { replicas, clock } = options;
    const all = replicas === undefined ? null : new Replicas({ ...replicas, clock, primary: this });
    this.replicas = all?.all ?? [];
    this.#parts = {
      ...parts,
      replicas: all,
      turns: limiter(options.maxReads),
      shared: hasSessions ? shared(slowMs) : null,
      sharedTurns: limiter(maxRunningReads),
      keyed: shared(1),
    };
    this.loneWrites = !pipelines ? this : new SharedWrites({
      ...parts,
      alone: (statement: Statement) => this.#query(statement),
      committed: () => parts.commits.notify(),
    });
    this.label = options.label;
    this.isShared = options.isShared;
    this.isPooled = options.isPooled === true;
    this.signals = options.signals;
    this.schemaSignals = options.schemaSignals;
  }

  async query(statement: Statement): Promise<QueryResult> {
    const shared = statement.isSingle === true ? this.#parts.keyed : null;
    if (shared === null) return await this.#query(statement);
    this.#parts.guard.check();
    const result = shared.isQuick(statement) ? await shared.read(statement) : null;
    return result ?? await this.#query(statement, shared);
  }

  async #query(statement: Statement, measures: SharedReads | null = null): Promise<QueryResult> {
    this.#parts.guard.check();
    const limit = this.#limit();
    const session = await this.#pool.acquire(statement.text);
    try {
      const connection = await whenOpen(session, limit);
      const beganAt = measures === null ? 0 : this.#options.clock.elapsedMs();
      const result = await runStatement(connection, statement);
      measures?.measured(statement, this.#options.clock.elapsedMs() - beganAt);
      if (!onlyReads.test(statement.text)) this.#parts.commits.notify();
      return result;
    } catch (error) {
      const sent = onlyReads.test(statement.text) ? "read" : "write";
      throw translate(error, statement, sent, this.#parts.raisedMessages);
    } finally {
      this.#pool.release(session);
    }
  }

  as(identity: DatabaseIdentity): Driver {
    return new ActingDriver(this, this.#parts, identity);
  }

  reads(limits: ReadLimits): Connection {
    const own = new PostgresReads(this.#parts, limits);
    const { guard, replicas } = this.#parts;
    return replicas?.reads(limits, own, { guard }) ?? own;
  }

  async limited<T>(limits: ReadLimits, work: () => Promise<T>): Promise<T> {
    const turn = await this.#parts.turns.enter(limits);
    try {
      return await work();
    } finally {
      this.#parts.turns.leave(turn);
    }
  }

  async transaction<T>(work: (connection: Connection) => MaybePromise<T>): Promise<T> {
    this.#parts.guard.check();
    const limit = this.#limit();
    const session = await this.#pool.acquire("transaction");
    try {
      const connection = await whenOpen(session, limit);
      await begin(connection, limit);
      return await runTransaction(connection, work, this.#parts);
    } finally {
      this.#pool.release(session);
    }
  }

  renewConnections(): void {
    this.#options.renewConnections?.();
    for (const { driver } of this.replicas) driver.renewConnections?.();
  }

  poolUsage(): PoolUsage {
    return this.#pool.usage();
  }

  onCommit(listener: () => void): () => void {
    return this.#parts.commits.add(listener);
  }

  #limit(): Deadline {
    const { waitLimitMs, clock } = this.#options;
    return deadline(waitLimitMs, clock, () => tooLate(waitLimitMs));
  }

  close(): Promise<void> {
    return this.#closing ??= this.#close();
  }

  async #close(): Promise<void> {
    await this.#pool.close();
    await Promise.all(this.#options.sessions.map((session) => session.close()));
    await Promise.all(this.replicas.map(({ driver }) => driver.close()));
    await this.#options.close();
  }
}

/** Matches statements that can safely run twice. WITH is not safe: it can contain an INSERT. */
const onlyReads = /^\s*(select|values|table|show|explain)\b/i;

function tooLate(limitMs: number): DatabaseError {
  const cause = new Error(`Cannot use the database: it gave no connection within ${limitMs} ms`);
  return new DatabaseError("unavailable", cause);
}
