import type { Clock } from "../../runtime/runtime.ts";
import { DatabaseError } from "../database_error.ts";

/** Somebody who waits for a turn. */
export interface QueuedJob {
  /** When it began to wait, by the clock that never jumps. */
  readonly enqueuedAt: number;
  /** Tells it that its turn will not come. */
  reject(error: unknown): void;
}

/** First come, first served; whoever waits longer than the limit is refused as `unavailable`. */
export class JobQueue<T extends QueuedJob> {
  readonly #waiters: T[] = [];
  readonly #limitMs: number;
  readonly #clock: Clock;
  #cancelTimer: (() => void) | null = null;

  /** Nobody waits yet. */
  constructor(limitMs: number, clock: Clock) {
    this.#limitMs = limitMs;
    this.#clock = clock;
  }

  /** How many wait. */
  get length(): number {
    return this.#waiters.length;
  }

  /** The one whose turn is next. */
  get first(): T | undefined {
    return this.#waiters[0];
  }

  /** Joins at the end. */
  enqueue(waiter: T): void {
    this.#waiters.push(waiter);
    // One timer serves all: the first in the line is the first whose time is over.
    if (this.#cancelTimer === null) this.#expireAfter(this.#limitMs);
  }

  /** The first one's turn has come. */
  dequeue(): T | undefined {
    return this.#waiters.shift();
  }

  /** Those whose turn was in vain are first again. */
  putBack(waiters: readonly T[]): void {
    this.#waiters.unshift(...waiters);
  }

  /** Refuses everybody, and lets the clock go. */
  rejectAll(reason: string): void {
    this.#cancelTimer?.();
    for (const waiter of this.#waiters.splice(0)) waiter.reject(unavailable(reason));
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

/** The refusal of a write that has not begun. */
export function unavailable(reason: string): DatabaseError {
  return new DatabaseError("unavailable", new Error(`Cannot write to the database: ${reason}`));
}
