import type { Clock } from "../../../runtime/runtime.ts";
import { DatabaseError } from "../../../db/database_error.ts";
import { EventLoopTurnCounter } from "../../../runtime/event_loop.ts";
import type { Statement } from "../../../sql/fragment.ts";
import type { SqliteConnection } from "./sqlite_connection.ts";

export interface QueuedJob {
  /** The monotonic time at which the job began to wait. */
  readonly enqueuedAt: number;
  /** Called if the job will not run. */
  reject(error: unknown): void;
}

/**
 * The queue of jobs that write to a SQLite file: first in, first out. A job that waits longer than
 * the limit is rejected as `writeNotStartedError`.
 */
export class JobQueue<T extends QueuedJob> {
  readonly #jobs: T[] = [];
  readonly #limitMs: number;
  readonly #clock: Clock;
  #cancelTimer: (() => void) | null = null;

  constructor(limitMs: number, clock: Clock) {
    this.#limitMs = limitMs;
    this.#clock = clock;
  }

  get length(): number {
    return this.#jobs.length;
  }

  get first(): T | undefined {
    return this.#jobs[0];
  }

  enqueue(job: T): void {
    this.#jobs.push(job);
    // One timer suffices, because the first job in the queue expires first.
    if (this.#cancelTimer === null) this.#expireAfter(this.#limitMs);
  }

  dequeue(): T | undefined {
    return this.#jobs.shift();
  }

  /** Puts jobs that must run again at the front of the queue. */
  putBack(jobs: readonly T[]): void {
    this.#jobs.unshift(...jobs);
  }

  /** Rejects all jobs, and stops the timer. */
  rejectAll(reason: string): void {
    this.#cancelTimer?.();
    for (const job of this.#jobs.splice(0)) job.reject(writeNotStartedError(reason));
  }

  #expireAfter(delayMs: number): void {
    this.#cancelTimer = this.#clock.after(delayMs, () => this.#expire());
  }

  #expire(): void {
    this.#cancelTimer = null;
    for (let { first } = this; first !== undefined; first = this.first) {
      const leftMs = first.enqueuedAt + this.#limitMs - this.#clock.elapsedMs();
      if (leftMs > 0) return this.#expireAfter(leftMs);
      this.dequeue();
      first.reject(writeNotStartedError(`no turn came within ${this.#limitMs} ms`));
    }
  }
}

export function writeNotStartedError(reason: string): DatabaseError {
  return new DatabaseError("unavailable", new Error(`Cannot write to the database: ${reason}`));
}

export const maxJobsPerCommit = 256;

/** The age from which a group accepts no transaction that is likely to wait, in milliseconds. */
const maxAgeForWaitingMs = 5;

/** The age at which a group commits, because reads would wait for a long series of writes. */
const maxGroupMs = 10;

/** Resolves the promise of a job after its commit. */
export type Acknowledge = () => void;

/** A write that shares a commit with other writes, unless it is `alone` or changes tables. */
export type WriteJob =
  | QueuedJob & { readonly kind: "statement" | "alone"; readonly run: () => Acknowledge }
  | QueuedJob & {
    readonly kind: "transaction" | "restructuring";
    readonly run: () => Promise<Acknowledge>;
  };

export interface FinishedJob {
  readonly job: WriteJob;
  /** Resolves or rejects the job once the group is committed. */
  readonly report: () => void;
}

export interface JobGroupOptions {
  /** The connection, inside of a transaction that the group neither begins nor ends. */
  readonly writer: SqliteConnection;
  readonly clock: Pick<Clock, "elapsedMs">;
  /** Translates the library's errors to their common form. */
  readonly translated: (error: unknown) => unknown;
  readonly forecast: WaitForecast;
}

/** The jobs of one transaction, each in its own savepoint. */
export class JobGroup {
  /** The jobs that have run, in their order. */
  readonly finished: FinishedJob[] = [];
  readonly #options: JobGroupOptions;
  readonly #startedAt: number;
  /** True if all jobs so far have waited. A further waiting job then delays no quick job. */
  #waitersOnly = true;

  /** Creates the group. Its age counts from now. */
  constructor(options: JobGroupOptions) {
    this.#options = options;
    this.#startedAt = options.clock.elapsedMs();
  }

  /** Returns true if the group is young and small enough for one more job. */
  takes(job: WriteJob): boolean {
    if (this.finished.length === 0) return true;
    if (this.finished.length === maxJobsPerCommit) return false;
    const ageMs = this.#options.clock.elapsedMs() - this.#startedAt;
    if (ageMs >= maxGroupMs) return false;
    const mayWait = job.kind === "transaction" && this.#options.forecast.expectsWait;
    // Waiting jobs come first in a group, so that they do not delay the commit of quick jobs.
    return !mayWait || (this.#waitersOnly && ageMs < maxAgeForWaitingMs);
  }

  /** Resolves when the job is done or rolled back. Rejects if SQLite can do neither. */
  async run(job: WriteJob): Promise<void> {
    const { writer, translated } = this.#options;
    try {
      writer.run(savepoint);
      const running = job.run();
      const report = running instanceof Promise ? await this.#watch(running) : running;
      writer.run(release);
      if (job.kind !== "transaction") this.#waitersOnly = false;
      this.finished.push({ job, report });
    } catch (error) {
      const reason = translated(error);
      try {
        if (writer.inTransaction) {
          writer.run(rollbackToSavepoint);
          writer.run(release);
        }
      } catch (second) {
        job.reject(reason);
        throw translated(second);
      }
      this.finished.push({ job, report: () => job.reject(reason) });
    }
  }

  async #watch(work: Promise<Acknowledge>): Promise<Acknowledge> {
    const { forecast } = this.#options;
    try {
      return await forecast.watch(work);
    } finally {
      if (!forecast.expectsWait) this.#waitersOnly = false;
    }
  }
}

/**
 * Predicts whether a transaction will wait for anything except the database. The next transaction
 * is expected to do what the previous one did.
 */
export class WaitForecast {
  #expectsWait = false;
  readonly #turns: EventLoopTurnCounter = new EventLoopTurnCounter();

  /** True if the next transaction is expected to wait. */
  get expectsWait(): boolean {
    return this.#expectsWait;
  }

  /** Measures whether the work of a transaction waits. */
  async watch<T>(work: Promise<T>): Promise<T> {
    const before = this.#turns.watch();
    try {
      return await work;
    } finally {
      this.#expectsWait = this.#turns.count !== before;
    }
  }
}

const savepoint: Statement = { text: "SAVEPOINT service_job", values: [] };
const release: Statement = { text: "RELEASE service_job", values: [] };
const rollbackToSavepoint: Statement = { text: "ROLLBACK TO service_job", values: [] };
