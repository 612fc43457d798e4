import { type Clock, type Deadline, runAfterPendingIo } from "../../../runtime/runtime.ts";
import type { Statement } from "../../../sql/fragment.ts";
import type { DatabaseIdentity, QueryResult } from "../../../db/driver.ts";
import { StatementDurations } from "../../../db/statement_durations.ts";
import type { Pool } from "./connection_pool.ts";
import type {
  KeepRow,
  PostgresConnection,
  PostgresSession,
  ScheduledRead,
} from "./postgres_connection.ts";
import { isStalePlan } from "./postgres_errors.ts";
import { toPostgresText, toQueryResult, translate, whenOpen } from "./run_statement.ts";
import { identityStatement } from "./transactions/acting_connection.ts";

export interface SharedReadsDependencies {
  readonly pool: Pool<PostgresSession>;
  readonly limit: () => Deadline;
  readonly clock: Clock;
  readonly raisedMessages: boolean;
}

interface WaitingRead {
  readonly statement: Statement;
  readonly keep: KeepRow;
  readonly identity: DatabaseIdentity | null;
  readonly resolve: (result: QueryResult | null) => void;
  readonly reject: (error: unknown) => void;
  sent: ScheduledRead | null;
  /** Resolves when a cancel request cannot affect the connection any more. */
  canceled: Promise<void> | null;
  isDone: boolean;
  isGivenUp: boolean;
}

const maxConnections = 2;

const maxReads = 32;

export const maxRunningReads: number = maxConnections * maxReads;

/** The maximum sum of the expected durations of reads that are sent together, in milliseconds. */
const maxExpectedMs = 50;

/** A read without a result after this time, in milliseconds, moves to another connection. */
const maxWaitMs = 200;

/** The expected duration of a statement that took or can take too long, in milliseconds. */
export const slowMs = 1_000;

/**
 * Runs reads that are known to be quick. Concurrent reads share a connection and are pipelined. A
 * read in the name of an identity is one message. If this message fails, the read runs again alone,
 * which returns the right error.
 */
export class SharedReads {
  readonly #parts: SharedReadsDependencies;
  readonly #assumedMs: number;
  readonly #waiting: WaitingRead[] = [];
  readonly #durations: StatementDurations = new StatementDurations();
  #running = 0;
  /** True if the last reads were sent together, so that more reads can follow soon. */
  #isBusy = false;

  /** `assumedMs` is the expected duration of a statement that has never run. */
  constructor(parts: SharedReadsDependencies, assumedMs: number) {
    this.#parts = parts;
    this.#assumedMs = assumedMs;
  }

  isQuick(statement: Statement): boolean {
    return this.#expectedMs(statement) <= maxExpectedMs;
  }

  measured(statement: Statement, ms: number): void {
    this.#durations.measured(statement, ms);
  }

  /** Runs a quick statement. Resolves with null if it must run on a separate connection instead. */
  read(
    statement: Statement,
    keep: KeepRow = () => true,
    identity: DatabaseIdentity | null = null,
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
    if (this.#isBusy) await new Promise<void>((resolve) => runAfterPendingIo(resolve));
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

  #take(): readonly WaitingRead[] {
    let [count, ms] = [0, 0];
    for (; count < Math.min(this.#waiting.length, maxReads); count++) {
      ms += this.#expectedMs(this.#waiting[count]!.statement);
      if (ms > maxExpectedMs && count > 0) break;
    }
    return this.#waiting.splice(0, count);
  }

  #watch(reads: readonly WaitingRead[], late: () => void): () => void {
    const { clock } = this.#parts;
    const giveUp = () => {
      late();
      const left = reads.filter(({ isDone }) => !isDone);
      const running = left.find(({ sent }) => sent !== null);
      // Cancels only a read that was given up one period ago: a cancel can close the connection.
      if (running?.isGivenUp === true) running.canceled ??= running.sent?.cancel() ?? null;
      else if (running !== undefined) this.measured(running.statement, slowMs);
      for (const read of left) {
        read.isGivenUp = true;
        read.resolve(null);
      }
      stop = clock.after(maxWaitMs, giveUp);
    };
    let stop = clock.after(maxWaitMs, giveUp);
    return () => stop();
  }

  async #runTogether(reads: readonly WaitingRead[]): Promise<void> {
    // Another connection can have taken all reads that were waiting.
    if (reads.length === 0) return;
    const { pool, limit, clock, raisedMessages } = this.#parts;
    const deadline = limit();
    try {
      const session = await pool.acquire("shared read");
      try {
        const connection = await whenOpen(session, deadline);
        // During the wait for the connection, some of the reads can have been abandoned.
        const open = reads.filter(({ isGivenUp }) => !isGivenUp);
        const beganAt = clock.elapsedMs();
        await Promise.all(open.map((read) => this.#run(connection, read)));
        await Promise.all(open.map(({ canceled }) => canceled));
        const sent = open.filter((read) => read.sent !== null);
        const [first] = sent;
        if (first === undefined || sent.some(({ isGivenUp }) => isGivenUp)) return;
        this.measured(first.statement, (clock.elapsedMs() - beganAt) / sent.length);
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
    const { statement, identity } = read;
    try {
      read.sent = send(connection, read);
      const result = await read.sent?.result.finally(() => read.isDone = true) ?? null;
      read.resolve(result === null ? null : toQueryResult(result, statement));
    } catch (error) {
      if (identity !== null || connection.lost || isStalePlan(error)) read.resolve(null);
      else read.reject(translate(error, statement, "read", this.#parts.raisedMessages));
    }
  }
}

/** Sends a read. Returns null if it has an identity and is not prepared: it must then run alone. */
function send(
  connection: PostgresConnection,
  { statement: { text, values }, keep, identity }: WaitingRead,
): ScheduledRead | null {
  const read = { text, values: values.map(toPostgresText) };
  if (identity === null) return connection.read(text, read.values, keep, true);
  return connection.readAfter?.(identityStatement(identity), read, keep) ?? null;
}
