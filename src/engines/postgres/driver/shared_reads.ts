import { afterPendingIo } from "../../../runtime/event_loop.ts";
import type { Clock } from "../../../runtime/runtime.ts";
import type { Deadline } from "../../../runtime/deadline.ts";
import type { Statement } from "../../../sql/fragment.ts";
import type { DatabaseIdentity, QueryResult } from "../../../db/driver.ts";
import { StatementDurations } from "../../../db/statement_durations.ts";
import type { Pool } from "./connection_pool.ts";
import type { PostgresConnection, PostgresSession, ScheduledRead } from "./postgres_connection.ts";
import { isStalePlan } from "./postgres_errors.ts";
import { toPostgresText, toQueryResult, translate, whenOpen } from "./run_statement.ts";
import { runAs } from "./transactions/acting_connection.ts";

export interface SharedReadsDependencies {
  readonly pool: Pool<PostgresSession>;
  /** Returns a new deadline for obtaining a session and its connection. */
  readonly limit: () => Deadline;
  readonly clock: Clock;
  /** True if clients see the messages of RAISE. */
  readonly raisedMessages: boolean;
}

/** Returns false if a row has to be left out, and all previous rows of its read with it. */
export type KeepRow = (row: readonly (string | null)[]) => boolean;

/** An identity, and a string that no other identity has. */
export interface ReadIdentity extends DatabaseIdentity {
  readonly key: string;
}

interface WaitingRead {
  readonly statement: Statement;
  readonly keep: KeepRow;
  readonly identity: ReadIdentity | null;
  readonly resolve: (result: QueryResult | null) => void;
  readonly reject: (error: unknown) => void;
  /** The read on the connection, or null before it was sent. */
  sent: ScheduledRead | null;
  /** Resolves when a cancel request can no longer affect the connection. */
  canceled: Promise<void> | null;
  /** True if the server has responded. */
  isDone: boolean;
  /** True if the read has to run on a separate connection. */
  isGivenUp: boolean;
}

/** The maximum number of connections that run shared reads at the same time. */
const maxConnections = 2;

/** The maximum number of reads, and of statements, that are sent together. */
const [maxReads, maxStatements] = [32, 96];

export const maxRunningReads: number = maxConnections * maxReads;

/** The maximum expected duration of the reads that are sent together, in milliseconds. */
const maxExpectedMs = 50;

/** After this time, reads without a result have to run on separate connections. */
const maxWaitMs = 200;

/** The expected duration of a statement that took too long, or may take long, in milliseconds. */
export const slowMs = 1_000;

/**
 * Runs reads that are known to be quick. Concurrent reads share a connection and are sent without
 * waiting for each response, which needs fewer messages and fewer switches between processes. Each
 * read has its own result or error. Either all reads of one `SharedReads` have an identity, or none.
 * The reads of one identity share a transaction, and are repeated alone if any part of it fails.
 */
export class SharedReads {
  readonly #parts: SharedReadsDependencies;
  readonly #assumedMs: number;
  readonly #waiting: WaitingRead[] = [];
  readonly #durations: StatementDurations = new StatementDurations();
  /** The number of connections that run shared reads. */
  #running = 0;
  /** True if the last reads were sent together. More reads may then be arriving. */
  #isBusy = false;

  /** Creates the reader. `assumedMs` is the expected duration of a statement before it was run. */
  constructor(parts: SharedReadsDependencies, assumedMs: number) {
    this.#parts = parts;
    this.#assumedMs = assumedMs;
  }

  isQuick(statement: Statement): boolean {
    return this.#expectedMs(statement) <= maxExpectedMs;
  }

  /** Remembers how long a statement took on a connection, in milliseconds. */
  measured(statement: Statement, ms: number): void {
    this.#durations.measured(statement, ms);
  }

  /**
   * Runs a quick statement. Resolves with null if the statement has to run on a separate
   * connection. Rows for which `keep` returns false are omitted, with all previous rows.
   */
  read(
    statement: Statement,
    keep: KeepRow = keepAll,
    identity: ReadIdentity | null = null,
  ): Promise<QueryResult | null> {
    return new Promise((resolve, reject) => {
      const state = { sent: null, canceled: null, isDone: false, isGivenUp: false };
      this.#waiting.push({ statement, keep, identity, resolve, reject, ...state });
      this.#start();
    });
  }

  #expectedMs(statement: Statement): number {
    return this.#durations.expectedMs(statement) ?? this.#assumedMs;
  }

  #start(): void {
    if (this.#running >= maxConnections || this.#waiting.length === 0) return;
    this.#running++;
    void this.#runWaiting();
  }

  async #runWaiting(): Promise<void> {
    if (this.#isBusy) await new Promise<void>((resolve) => afterPendingIo(resolve));
    const reads = this.#take();
    this.#isBusy = reads.length > 1;
    let isCounted = true;
    const end = () => {
      if (!isCounted) return;
      isCounted = false;
      this.#running--;
      this.#start();
    };
    const endWatch = this.#watch(reads, end);
    await this.#runTogether(reads);
    endWatch();
    end();
  }

  /** Removes the next reads from the queue. The reads of one identity follow each other. */
  #take(): readonly WaitingRead[] {
    let [count, ms, statements] = [0, 0, 0];
    const keys = new Set<string>();
    for (; count < Math.min(this.#waiting.length, maxReads); count++) {
      const { statement, identity } = this.#waiting[count]!;
      ms += this.#expectedMs(statement);
      statements += identity === null || keys.has(identity.key) ? 1 : 4;
      if ((ms > maxExpectedMs || statements > maxStatements) && count > 0) break;
      if (identity !== null) keys.add(identity.key);
    }
    const reads = this.#waiting.splice(0, count);
    return keys.size < 2 ? reads : [...Map.groupBy(reads, keyOf).values()].flat();
  }

  /**
   * After 200 ms, abandons all reads without a result. After another 200 ms, cancels the read that is
   * still running, and repeats this until no read is running. Returns a stop function.
   */
  #watch(reads: readonly WaitingRead[], late: () => void): () => void {
    const { clock } = this.#parts;
    const giveUp = () => {
      late();
      const left = reads.filter(({ isDone }) => !isDone);
      const [running] = left;
      // A cancel request may close the connection, so the read gets the same time once more.
      if (running?.isGivenUp === true) running.canceled ??= running.sent?.cancel() ?? null;
      else if (running !== undefined && running.sent !== null) {
        this.measured(running.statement, slowMs);
      }
      for (const read of left) read.isGivenUp = true;
      // Also reads that were answered, but whose transaction has not ended.
      for (const read of reads) read.resolve(null);
      stop = clock.after(maxWaitMs, giveUp);
    };
    let stop = clock.after(maxWaitMs, giveUp);
    return () => stop();
  }

  async #runTogether(reads: readonly WaitingRead[]): Promise<void> {
    // Another connection may have taken the reads that were waiting.
    if (reads.length === 0) return;
    const { pool, limit, clock, raisedMessages } = this.#parts;
    const deadline = limit();
    try {
      const session = await pool.acquire("shared read");
      try {
        const connection = await whenOpen(session, deadline);
        // No connection was free until now, and some reads may have been given up.
        const open = reads.filter(({ isGivenUp }) => !isGivenUp);
        const beganAt = clock.elapsedMs();
        if (open.some(({ identity }) => identity !== null)) await this.#runActing(connection, open);
        else await Promise.all(open.map((read) => this.#run(connection, read)));
        await Promise.all(open.map(({ canceled }) => canceled));
        const [first] = open;
        if (first === undefined || open.some(({ isGivenUp }) => isGivenUp)) return;
        this.measured(first.statement, (clock.elapsedMs() - beganAt) / open.length);
      } finally {
        pool.release(session);
      }
    } catch (error) {
      for (const read of reads) {
        read.reject(translate(error, read.statement, "read", raisedMessages));
      }
    }
  }

  async #run(connection: PostgresConnection, read: WaitingRead): Promise<void> {
    const { statement } = read;
    try {
      read.resolve(toQueryResult(await send(connection, read), statement));
    } catch (error) {
      if (connection.lost || isStalePlan(error)) read.resolve(null);
      else read.reject(translate(error, statement, "read", this.#parts.raisedMessages));
    }
  }

  /** Sends a transaction for each identity, without waiting. Resolves when all have ended. */
  async #runActing(connection: PostgresConnection, reads: readonly WaitingRead[]): Promise<void> {
    let before: Promise<unknown> = Promise.resolve();
    await Promise.all([...Map.groupBy(reads, keyOf).values()].map((group) => {
      const all = () => Promise.all(group.map((read) => send(connection, read)));
      const own = runAs(connection, group[0]!.identity!, true, all);
      // After a COMMIT that failed, the next reads could belong to the same transaction. Therefore
      // nothing is returned unless all previous transactions have succeeded as well.
      const sound = before = Promise.all([own, before]);
      return sound.then(([results]) => {
        for (const [n, read] of group.entries()) {
          read.resolve(toQueryResult(results[n]!, read.statement));
        }
      }, async () => {
        for (const read of group) read.resolve(null);
        await Promise.allSettled([own]);
      });
    }));
  }
}

/** Sends a read without waiting for the responses to the previous statements. */
function send(connection: PostgresConnection, read: WaitingRead): ScheduledRead["result"] {
  const { statement: { text, values }, keep } = read;
  read.sent = connection.read(text, values.map(toPostgresText), keep, true);
  return read.sent.result.finally(() => read.isDone = true);
}

function keyOf({ identity }: WaitingRead): string {
  return identity?.key ?? "";
}

function keepAll(): boolean {
  return true;
}
