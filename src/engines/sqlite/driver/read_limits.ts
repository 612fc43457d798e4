import type { SqlValue } from "../../../sql/fragment.ts";
import { overLimitResult } from "../sql/time_check.ts";
import { DatabaseError } from "../../../db/database_error.ts";
import type { Clock } from "../../../runtime/runtime.ts";

/** The number of bytes that may still be read from SQLite rows. */
export interface RemainingBytes {
  left: number;
}

/** Counts the bytes of the rows of one SQLite statement while they are read. */
export class RowBytes {
  /** True if the rows of the last statement had too many bytes. */
  isOver = false;
  #left = 0;

  /** Sets the limit for the following rows. */
  start({ left }: RemainingBytes): void {
    this.isOver = false;
    this.#left = left;
  }

  /** The SQL function that counts the bytes of a row. */
  readonly check = (bytes: unknown): number | bigint => {
    this.#left -= Number(bytes);
    this.isOver ||= this.#left < 0;
    return this.isOver ? overLimitResult : 1;
  };
}

export const unlimitedBytes: RemainingBytes = { left: Infinity };

/**
 * Converts the cells of SQLite rows in place to the common form of both libraries: safe integers
 * are numbers, and bytes are a plain Uint8Array. Returns false if a number may have lost digits.
 * Throws if there are too many bytes.
 */
export function normalizeCells(rows: SqlValue[][], bytes: RemainingBytes): boolean {
  let exact = true;
  let count = 0;
  for (const row of rows) {
    for (let i = 0; i < row.length; i++) {
      const cell = row[i];
      if (typeof cell === "number") {
        if (Number.isInteger(cell) && !Number.isSafeInteger(cell)) exact = false;
      } else if (typeof cell === "string") {
        count += cell.length;
      } else if (typeof cell === "bigint") {
        const number = Number(cell);
        if (Number.isSafeInteger(number)) row[i] = number;
      } else if (cell instanceof Uint8Array) {
        count += cell.length;
        if (cell.constructor !== Uint8Array) {
          row[i] = new Uint8Array(cell.buffer, cell.byteOffset, cell.byteLength);
        }
      }
    }
  }
  // Rows that have lost digits are read again, and counted then.
  if (exact) takeBytes(count + bytesOfRow * rows.length, bytes);
  return exact;
}

/** The number of bytes that each row counts in addition to its strings and binary values. */
const bytesOfRow = 32;

function takeBytes(count: number, bytes: RemainingBytes): void {
  bytes.left -= count;
  if (bytes.left < 0) throw tooLargeError();
}

export function tooLargeError(): DatabaseError {
  return new DatabaseError(
    "too-large",
    new Error("The rows have more bytes than the read may have"),
  );
}

/** The time limit of a statement, requested at the first check of the time. */
export interface TimeLimit {
  /**
   * Returns how long the statement may run after the first check, in milliseconds. `now` is the
   * time of that check by the deadline's clock. `sorts` is true if rows may be sorted afterwards.
   */
  limitMs(now: number, sorts: boolean): number;
  /** Returns true if the result is no longer needed. */
  isCancelled(): boolean;
  /** Called after a statement that examined many rows, with its duration. */
  spent(ms: number): void;
}

/** The number of examined bytes after which the time is checked again. */
const bytesBetweenLooks = 16 * 1024;
/** The cost of a check, in bytes, in addition to the bytes that the condition examines. */
const bytesOfCheck = 256;
/** A statement with fewer checks than this was not slow: the machine had paused the process. */
const looksOfLongStatement = 8;

/**
 * The deadline of the statements of one SQLite connection. The SQL function for time checks calls
 * {@link check}, which returns {@link overLimitResult} when the statement's time is over.
 */
export class StatementDeadline {
  /** True if the deadline has ended the last statement. */
  isOver = false;
  readonly #clock: Pick<Clock, "elapsedMs">;
  #limit: TimeLimit | null = null;
  #looks = 0;
  #beganAt = 0;
  #limitMs = 0;
  #sorts = false;
  #bytes = 0;

  constructor(clock: Pick<Clock, "elapsedMs">) {
    this.#clock = clock;
  }

  /** Limits the following statements. `sorts` is true if they may sort rows after reading them. */
  start(limit: TimeLimit, sorts: boolean): void {
    this.isOver = false;
    this.#limit = limit;
    this.#sorts = sorts;
    this.#looks = 0;
    this.#bytes = 0;
  }

  stop(): void {
    const limit = this.#limit;
    this.#limit = null;
    if (limit === null || this.#looks < looksOfLongStatement) return;
    limit.spent(this.#clock.elapsedMs() - this.#beganAt);
  }

  /** The SQL function of time checks, with the bytes that a condition will examine, or null. */
  readonly check = (bytes: unknown): number | bigint => {
    if (this.#limit === null) return 1;
    if (typeof bytes === "number") {
      this.#bytes += bytes + bytesOfCheck;
      if (this.#bytes < bytesBetweenLooks) return 1;
      this.#bytes = 0;
    }
    return this.#isOver(this.#limit) ? overLimitResult : 1;
  };

  #isOver(limit: TimeLimit): boolean {
    const now = this.#clock.elapsedMs();
    if (++this.#looks === 1) {
      this.#beganAt = now;
      this.#limitMs = limit.limitMs(now, this.#sorts);
    }
    if (this.#looks < looksOfLongStatement) return false;
    this.isOver ||= now - this.#beganAt >= this.#limitMs || limit.isCancelled();
    return this.isOver;
  }
}

export function fixedTimeLimit(limitMs: number, isCancelled: () => boolean): TimeLimit {
  return { limitMs: () => limitMs, isCancelled, spent() {} };
}

/** The largest time limit of a read in the main thread, in ms. */
const maxInlineMs = 10;
/** The smallest time limit of a read in the main thread, in ms. Reads by an index need less. */
const minInlineMs = 0.25;
/** The fraction of the time limit for reading before a sort. A sort cannot be aborted. */
const shareBeforeSort = 1 / 4;
/** The maximum fraction of the thread's time that all long reads together may take. */
const inlineShare = 0.1;

/**
 * The time limit of reads in the thread of all requests. If long reads follow each other closely,
 * each gets less time before it moves to another thread. Otherwise many long reads would together
 * block other requests for many times the limit.
 */
export class InlineTimeLimit implements TimeLimit {
  #leftMs = maxInlineMs;
  #at = 0;

  limitMs(now: number, sorts: boolean): number {
    this.#leftMs = Math.min(maxInlineMs, this.#leftMs + (now - this.#at) * inlineShare);
    this.#at = now;
    return Math.max(minInlineMs, sorts ? this.#leftMs * shareBeforeSort : this.#leftMs);
  }

  isCancelled(): boolean {
    return false;
  }

  spent(ms: number): void {
    this.#leftMs = Math.max(0, this.#leftMs - ms);
  }
}
