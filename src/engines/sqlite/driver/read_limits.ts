import type { SqlValue } from "../../../sql/fragment.ts";
import { overTheLimit } from "../sql/time_check.ts";
import { DatabaseError } from "../../../db/database_error.ts";
import type { Clock } from "../../../runtime/runtime.ts";

/** How many more bytes the cells of SQLite rows may have. */
export interface BytesLeft {
  left: number;
}

/** Counts the bytes of the rows of one SQLite statement while they are read. */
export class RowBytes {
  /** True if the rows of the statement that ran last had too many. */
  isOver = false;
  #left = 0;

  /** The rows from now on may have so many bytes. */
  start({ left }: BytesLeft): void {
    this.isOver = false;
    this.#left = left;
  }

  /** The SQL function: of the bytes of a row. */
  readonly check = (bytes: unknown): number | bigint => {
    this.#left -= Number(bytes);
    this.isOver ||= this.#left < 0;
    return this.isOver ? overTheLimit : 1;
  };
}

/** For rows that are not limited. */
export const unlimitedBytes: BytesLeft = { left: Infinity };

/**
 * Returns every cell of SQLite rows the form that both libraries share, in place: safe integers are numbers, bytes
 * are a plain Uint8Array. False when a number may have lost digits. Throws when there are more bytes
 * than may be.
 */
export function resolveCells(rows: SqlValue[][], bytes: BytesLeft): boolean {
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

/** The numbers of a row, and the row itself. */
const bytesOfRow = 32;

function takeBytes(count: number, bytes: BytesLeft): void {
  bytes.left -= count;
  if (bytes.left < 0) throw tooLarge();
}

/** The error of rows with too many bytes. */
export function tooLarge(): DatabaseError {
  return new DatabaseError(
    "too-large",
    new Error("The rows have more bytes than the read may have"),
  );
}

/** How long a statement may run, asked when its first rows have been looked at. */
export interface TimeLimit {
  /**
   * How many milliseconds it may run from the first look on, which is at `now` by the clock of its
   * deadline; `sorts` where its rows may be sorted after that.
   */
  limitMs(now: number, sorts: boolean): number;
  /** Returns true if its result is not needed any more. */
  isCancelled(): boolean;
  /** Called after a statement that has looked at many rows, with the time that it took. */
  spent(ms: number): void;
}

/** So many bytes of text are looked at between two looks at the clock. */
const bytesBetweenLooks = 16 * 1024;
/** What a check costs beside the bytes. */
const bytesOfCheck = 256;
/**
 * Fewer looks at the clock mean that a statement has done little: where its time is over all the
 * same, the machine had paused the process.
 */
const looksOfLongStatement = 8;

/**
 * The deadline of the statements of one SQLite connection. The SQL function for time checks calls
 * {@link check}, which throws when the time of the running statement is over.
 */
export class StatementDeadline {
  /** True if it has ended the statement that ran last. */
  isOver = false;
  readonly #clock: Pick<Clock, "elapsedMs">;
  #limit: TimeLimit | null = null;
  #looks = 0;
  #beganAt = 0;
  #limitMs = 0;
  #sorts = false;
  #bytes = 0;

  /** Statements run without a limit at first. */
  constructor(clock: Pick<Clock, "elapsedMs">) {
    this.#clock = clock;
  }

  /** Limits the statements from now on; `sorts` where they may sort rows that they have read. */
  start(limit: TimeLimit, sorts: boolean): void {
    this.isOver = false;
    this.#limit = limit;
    this.#sorts = sorts;
    this.#looks = 0;
    this.#bytes = 0;
  }

  /** Takes the limit away. */
  stop(): void {
    const limit = this.#limit;
    this.#limit = null;
    if (limit === null || this.#looks < looksOfLongStatement) return;
    limit.spent(this.#clock.elapsedMs() - this.#beganAt);
  }

  /** The SQL function: of the bytes that a condition is about to look at, null for a check of rows. */
  readonly check = (bytes: unknown): number | bigint => {
    if (this.#limit === null) return 1;
    if (typeof bytes === "number") {
      this.#bytes += bytes + bytesOfCheck;
      if (this.#bytes < bytesBetweenLooks) return 1;
      this.#bytes = 0;
    }
    return this.#isOver(this.#limit) ? overTheLimit : 1;
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

/** A time limit of a fixed length. */
export function fixedLimit(limitMs: number, isCancelled: () => boolean): TimeLimit {
  return { limitMs: () => limitMs, isCancelled, spent() {} };
}

/** The longest time that a read runs in the thread that serves all requests. */
const maxInlineMs = 10;
/** Long enough for what an index serves, however busy the thread is. */
const minInlineMs = 0.25;
/** Nothing ends a sort in memory, which takes several times as long as reading its rows. */
const shareBeforeSort = 1 / 4;
/** The part of the thread's time that long reads may take together. */
const inlineShare = 0.1;

/**
 * The time limit of reads in the thread that serves all requests. When long ones come close
 * together, each has less time before it is run elsewhere: many at once would otherwise keep the
 * others waiting for many times the limit of one.
 */
export class InlineTime implements TimeLimit {
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
