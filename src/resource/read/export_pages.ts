import type { FetchedRows } from "../../db/rows.ts";
import type { RowPages } from "../../db/row_pages.ts";
import { ResponseAborted } from "../../problem/response_aborted.ts";
import type { YieldTurn } from "../../runtime/event_loop.ts";
import type { ColumnInfo } from "../../schema/table_info.ts";
import { presentRows, type View } from "../output.ts";
import type { RowWriter } from "./row_format.ts";

/** What becomes of the rows that are walked through. */
export interface ExportOptions {
  /** What the walk reads. */
  readonly columns: readonly ColumnInfo[];
  readonly view: View;
  /** The most rows of all pages together. */
  readonly limit: number;
  readonly writer: RowWriter;
  readonly giveTurn: YieldTurn;
  /** Told of what ended it early. */
  failed(error: unknown): void;
}

/**
 * Rows that nobody has seen may be wide, so the first page is short. All sizes are powers of two:
 * each has a statement of its own, and drivers keep those that they have prepared.
 */
export const firstPageRows = 64;

/** Some milliseconds of work: other requests get their turn behind every page. */
const maxPageRows = 512;

/** What pages are meant to take, in bytes as sent. */
const pageBytes = 256 * 1024;

/** The pages as they are sent. The next one is read when it is asked for, and none beside it. */
export async function* exportPages(
  first: FetchedRows,
  walk: RowPages,
  { columns, view, limit, writer, giveTurn, failed }: ExportOptions,
): AsyncGenerator<Uint8Array, void> {
  const encoder = new TextEncoder();
  let { rows } = first;
  let size = firstPageRows;
  let left = limit;
  let { head } = writer;
  try {
    while (true) {
      const wanted = rows.length > left ? rows.slice(0, left) : rows;
      const bytes = encoder.encode(head + writer.write(presentRows(wanted, columns, view)));
      // An empty piece would end a chunked body.
      if (bytes.length > 0) yield bytes;
      left -= wanted.length;
      if (rows.length < size || left === 0) return;
      head = "";
      size = nextSize(size, bytes.length);
      await giveTurn();
      rows = (await walk.next(size)).rows;
    }
  } catch (error) {
    failed(error);
    // The reader must not take what has arrived for the whole.
    throw new ResponseAborted(error);
  }
}

/** How many rows of the width just met fill a page, to the power of two below. */
function nextSize(size: number, bytes: number): number {
  const fitting = 2 ** Math.floor(Math.log2(Math.max(1, size * pageBytes / bytes)));
  return Math.min(fitting, size * 4, maxPageRows);
}
