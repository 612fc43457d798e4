import type { Clock } from "../../../runtime/runtime.ts";
import { DatabaseError } from "../../../db/database_error.ts";
import { EventLoopTurns } from "../../../runtime/event_loop.ts";
import type { Statement } from "../../../sql/fragment.ts";
import type { SqliteConnection } from "./sqlite_connection.ts";

/** A write job in the queue of a SQLite file, which waits for its turn. */
export interface QueuedJob {
  /** When it began to wait, by the monotonic clock. */
  readonly enqueuedAt: number;
  /** Called when its turn will not come. */
  reject(error: unknown): void;
}

/**
 * The queue of jobs that write to a SQLite file: first in, first out; a job that waits longer than
 * the limit is rejected as `unavailable`.
 */
export class JobQueue<T extends QueuedJob> {
  readonly #jobs: T[] = [];
  readonly #limitMs: number;
  readonly #clock: Clock;
  #cancelTimer: (() => void) | null = null;

  /** The queue is empty at first. */
  constructor(limitMs: number, clock: Clock) {
    this.#limitMs = limitMs;
    this.#clock = clock;
  }

  /** How many jobs wait. */
  get length(): number {
    return this.#jobs.length;
  }

  /** The job whose turn is next. */
  get first(): T | undefined {
    return this.#jobs[0];
  }

  /** Adds a job at the end. */
  enqueue(job: T): void {
    this.#jobs.push(job);
    // One timer serves all jobs: the first in the queue is the first whose time is over.
    if (this.#cancelTimer === null) this.#expireAfter(this.#limitMs);
  }

  /** Removes the first job. */
  dequeue(): T | undefined {
    return this.#jobs.shift();
  }

  /** Puts jobs that have to run again before all others. */
  putBack(jobs: readonly T[]): void {
    this.#jobs.unshift(...jobs);
  }

  /** Rejects all jobs, and stops the timer. */
  rejectAll(reason: string): void {
    this.#cancelTimer?.();
    for (const job of this.#jobs.splice(0)) job.reject(unavailable(reason));
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
      first.reject(unavailable(`no turn came within ${this.#limitMs} ms`));
    }
  }
}

/** The error of a queued job that has not begun its write. */
export function unavailable(reason: string): DatabaseError {
  return new DatabaseError("unavailable", new Error(`Cannot write to the database: ${reason}`));
}

/** The most jobs that share one commit. */
export const maxJobsPerCommit = 256;

/** A group that is older takes no further transaction that is likely to wait. */
const maxAgeForWaitingMs = 5;

/** A group that is older commits, so that reads do not wait for a long series of writes. */
const maxGroupMs = 10;

/** Resolves the promise of a job. */
export type Acknowledge = () => void;

/**
 * A write that shares a commit with others; one that is `alone` or changes the tables themselves
 * shares none.
 */
export type WriteJob =
  | QueuedJob & { readonly kind: "statement" | "alone"; readonly run: () => Acknowledge }
  | QueuedJob & {
    readonly kind: "transaction" | "restructuring";
    readonly run: () => Promise<Acknowledge>;
  };

/** A job that ran in a group. */
export interface FinishedJob {
  readonly job: WriteJob;
  /** Resolves or rejects it, once the group is committed. */
  readonly report: () => void;
}

/** What the jobs of a group run with. */
export interface JobGroupOptions {
  /** Inside of a transaction, which the group neither begins nor ends. */
  readonly writer: SqliteConnection;
  readonly clock: Pick<Clock, "elapsedMs">;
  /** Returns the library's errors their common form. */
  readonly translated: (error: unknown) => unknown;
  readonly forecast: WaitForecast;
}

/** The jobs of one transaction, each in a savepoint of its own. */
export class JobGroup {
  /** Those that ran, in their order. */
  readonly finished: FinishedJob[] = [];
  readonly #options: JobGroupOptions;
  readonly #startedAt: number;
  /** All jobs so far have waited, so that one more that waits delays no quick job. */
  #waitersOnly = true;

  /** Its age counts from now. */
  constructor(options: JobGroupOptions) {
    this.#options = options;
    this.#startedAt = options.clock.elapsedMs();
  }

  /** Returns true if it is young and small enough for one more job. */
  takes(job: WriteJob): boolean {
    if (this.finished.length === 0) return true;
    if (this.finished.length === maxJobsPerCommit) return false;
    const ageMs = this.#options.clock.elapsedMs() - this.#startedAt;
    if (ageMs >= maxGroupMs) return false;
    const mayWait = job.kind === "transaction" && this.#options.forecast.expectsWait;
    // Jobs that wait come first in a group, so that they do not delay the commit of quick ones.
    return !mayWait || (this.#waitersOnly && ageMs < maxAgeForWaitingMs);
  }

  /** Resolves when the job is done or rolled back. Rejects when SQLite refuses both. */
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

/** Predicts whether a transaction waits for more than the database: whether the last one did. */
export class WaitForecast {
  #expectsWait = false;
  readonly #turns: EventLoopTurns = new EventLoopTurns();

  /** Of the next transaction. */
  get expectsWait(): boolean {
    return this.#expectsWait;
  }

  /** Finds out whether the work of a transaction waits. */
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
