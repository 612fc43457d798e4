import type { SqlValue } from "../../../sql/fragment.ts";
import { overLimitResult } from "../sql/time_check.ts";
import { DatabaseError } from "../../../db/database_error.ts";
import type { Clock } from "../../../runtime/runtime.ts";

export interface RemainingBytes {
  left: number;
}

export class RowBytes {
  isOver = false;
  #left = 0;

  start({ left }: RemainingBytes): void {
    this.isOver = false;
    this.#left = left;
  }

  readonly check = (bytes: unknown): number | bigint => {
    this.#left -= Number(bytes);
    this.isOver ||= this.#left < 0;
    return this.isOver ? overLimitResult : 1;
  };
}

export const unlimitedBytes: RemainingBytes = { left: Infinity };

/** Converts cells in place, equally for all libraries. Returns false if a number may be rounded. */
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
  // If numbers were rounded, the rows are read again, so their bytes are counted then.
  if (exact) takeBytes(count + bytesOfRow * rows.length, bytes);
  return exact;
}

/** The bytes that are counted for each row in addition to its strings and binary values. */
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

/** The time limit of a statement. The first check of the time determines the limit. */
export interface TimeLimit {
  /** Returns the limit, in ms from `now`. `sorts` is true if a sort can follow the scan. */
  limitMs(now: number, sorts: boolean): number;
  isCancelled(): boolean;
  spent(ms: number): void;
}

const bytesBetweenLooks = 16 * 1024;
/** The cost of one time check, in bytes. It is added to the bytes that a statement examines. */
const bytesOfCheck = 256;
/** If the time limit passes before this number of checks, the system had paused the process. */
const looksOfLongStatement = 8;

export class StatementDeadline {
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

  /** Sets the limit for the next statement. `sorts` is true if it can sort rows after reading. */
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

  /** Checks the time in SQL: after calls with enough bytes in total, or at each call with null. */
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

const maxInlineMs = 10;
/** The shortest time limit of a read in the main thread, in ms. Reads by an index need less. */
const minInlineMs = 0.25;
/** The share of the time limit that can pass before a sort, because a sort cannot be aborted. */
const shareBeforeSort = 1 / 4;
/** The maximum part of the main thread's time that all long reads together can take. */
const inlineShare = 0.1;

/** Shortens the time limit of a long read that closely follows others, so that requests can run. */
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
