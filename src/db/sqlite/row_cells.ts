import type { SqlValue } from "../../sql/fragment.ts";
import { overTheLimit } from "../../sql/sqlite/time_check.ts";
import { DatabaseError } from "../database_error.ts";

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
