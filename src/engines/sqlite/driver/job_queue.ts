import { type Clock, EventLoopTurnCounter } from "../../../runtime/runtime.ts";
import { DatabaseError } from "../../../db/database_error.ts";
import type { Statement } from "../../../sql/fragment.ts";
import type { SqliteConnection } from "./sqlite_connection.ts";

export interface QueuedJob {
  /** When the job began to wait, in milliseconds of the monotonic clock. */
  readonly enqueuedAt: number;
  reject(error: unknown): void;
}

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
    // One timer is enough, because the first job of the queue reaches its limit first.
    if (this.#cancelTimer === null) this.#expireAfter(this.#limitMs);
  }

  dequeue(): T | undefined {
    return this.#jobs.shift();
  }

  putBack(jobs: readonly T[]): void {
    this.#jobs.unshift(...jobs);
  }

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

/** The age, in ms, after which a group takes no transaction that may wait for non-database work. */
const maxAgeForWaitingMs = 5;

/** The age, in ms, at which a group commits. A longer series of writes would delay reads. */
const maxGroupMs = 10;

export type Acknowledge = () => void;

/** A write job. It shares a commit with other jobs, unless it is `alone` or it alters tables. */
export type WriteJob =
  | QueuedJob & { readonly kind: "statement" | "alone"; readonly run: () => Acknowledge }
  | QueuedJob & {
    readonly kind: "transaction" | "restructuring";
    readonly run: () => Promise<Acknowledge>;
  };

export interface JobGroupOptions {
  readonly writer: SqliteConnection;
  readonly clock: Pick<Clock, "elapsedMs">;
  readonly translated: (error: unknown) => unknown;
  readonly forecast: WaitForecast;
}

export class JobGroup {
  readonly finished: {
    readonly job: WriteJob;
    readonly report: () => void;
  }[] = [];
  hasResults = false;
  readonly #options: JobGroupOptions;
  readonly #startedAt: number;
  /** True if all jobs so far waited for non-database work, so that waiting delays no quick job. */
  #waitersOnly = true;

  constructor(options: JobGroupOptions) {
    this.#options = options;
    this.#startedAt = options.clock.elapsedMs();
  }

  takes(job: WriteJob): boolean {
    if (this.finished.length === 0) return true;
    if (this.finished.length === maxJobsPerCommit) return false;
    const ageMs = this.#options.clock.elapsedMs() - this.#startedAt;
    if (ageMs >= maxGroupMs) return false;
    const mayWait = job.kind === "transaction" && this.#options.forecast.expectsWait;
    // A job that may wait must not follow a quick job, whose result would then wait, too.
    return !mayWait || (this.#waitersOnly && ageMs < maxAgeForWaitingMs);
  }

  async run(job: WriteJob): Promise<void> {
    const { writer, translated } = this.#options;
    try {
      writer.run(savepoint);
      const running = job.run();
      const report = running instanceof Promise ? await this.#watch(running) : running;
      writer.run(release);
      if (job.kind !== "transaction") this.#waitersOnly = false;
      this.hasResults = true;
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

/** Predicts, from the previous transaction, if work will wait for anything besides the database. */
export class WaitForecast {
  #expectsWait = false;
  readonly #turns: EventLoopTurnCounter = new EventLoopTurnCounter();

  get expectsWait(): boolean {
    return this.#expectsWait;
  }

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
