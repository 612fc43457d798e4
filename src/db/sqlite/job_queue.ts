import type { Clock } from "../../runtime/runtime.ts";
import { DatabaseError } from "../database_error.ts";

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
