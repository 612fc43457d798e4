import { bytesOfRow } from "../../db/row_bytes.ts";
import type { RowPage, RowPages } from "../../db/row_pages.ts";
import { type FetchedRows, fetchRows } from "../../db/rows.ts";
import { countedPositionAfter } from "../../plan/counted_position.ts";
import type { CountedPosition } from "../../plan/cursor.ts";
import type { ReadPlan } from "../../plan/plan.ts";
import { ResponseAborted } from "../../problem/response_aborted.ts";
import type { YieldTurn } from "../../runtime/event_loop.ts";
import type { ColumnInfo } from "../../schema/table_info.ts";
import { maskRows, type View } from "../shape/output.ts";
import type { ResourceCall } from "../model/operation.ts";
import { asResponseTooLarge, type ResponsePart } from "../http/response_byte_budget.ts";
import { responseReadConnection } from "./limited_reads.ts";
import type { RowWriter } from "../shape/row_format.ts";

export interface ExportOptions {
  readonly columns: readonly ColumnInfo[];
  readonly view: View;
  readonly limit: number;
  readonly writer: RowWriter;
  readonly giveTurn: YieldTurn;
  /** Called with an error that ends the export early, to report it. */
  failed(error: unknown): void;
}

/**
 * The number of rows in the first page of an export. The page is short, because the size of its
 * rows is still unknown. All page sizes are powers of two, so that few different statements are
 * prepared.
 */
export const firstPageRows = 64;

/** The maximum number of rows in a page. Reading them takes a few milliseconds. */
const maxPageRows = 512;

/** The intended size of a page in the response, in bytes. */
const pageBytes = 256 * 1024;

/** Yields the bytes of an export, page by page. A page is read when the consumer requests it. */
export async function* exportPages(
  first: RowPage,
  walk: RowPages,
  { columns, view, limit, writer, giveTurn, failed }: ExportOptions,
): AsyncGenerator<Uint8Array, void> {
  const encoder = new TextEncoder();
  let { rows, isLast } = first;
  let left = limit;
  let { head } = writer;
  try {
    while (true) {
      const wanted = rows.length > left ? rows.slice(0, left) : rows;
      const bytes = encoder.encode(head + writer.write(maskRows(wanted, columns, view)));
      // In HTTP/1.1, an empty chunk would end the body.
      if (bytes.length > 0) yield bytes;
      left -= wanted.length;
      if (isLast || left === 0) return;
      head = "";
      const size = nextSize(rows.length, bytes.length);
      await giveTurn();
      ({ rows, isLast } = await walk.next(size));
    }
  } catch (error) {
    failed(error);
    // The client must be able to detect that the export is incomplete.
    throw new ResponseAborted(error);
  }
}

/** Estimates from the last page how many rows fill a page. Rounds down to a power of two. */
function nextSize(size: number, bytes: number): number {
  const fitting = 2 ** Math.floor(Math.log2(Math.max(1, size * pageBytes / bytes)));
  return Math.min(fitting, size * 4, maxPageRows);
}

const exportedRows: ResponsePart = {
  name: "rows",
  subject: "the rows of the export",
  advice: "They are read by one statement, because their order has values of a view that may " +
    "differ each time. Order by its key, which the start of the service can name (--key), or " +
    "export fewer rows, by a filter or with select",
};

/**
 * Reads all rows after a position by one statement. The response is sent in parts. The rows count
 * as in flight until the client has received them.
 */
export async function readAtOnce(
  plan: ReadPlan,
  counted: CountedPosition,
  call: ResourceCall,
): Promise<FetchedRows> {
  const { reader, inflight, readCosts: { maxAnswerBytes } } = call.resource;
  const { delivery } = call.request;
  // In SQLite, OFFSET needs a LIMIT.
  const all = { ...plan, limit: Number.MAX_SAFE_INTEGER };
  try {
    const { rows, stored } = await fetchRows(responseReadConnection(call), all, reader);
    countedPositionAfter(counted, { stored, columns: plan.columns, order: plan.order }, 0);
    const bytes = stored.reduce((sum, row) => sum + bytesOfRow(row), 0);
    if (delivery !== null) inflight.hold(bytes, delivery);
    const { compared } = counted;
    return { rows: rows.slice(compared), stored: stored.slice(compared) };
  } catch (error) {
    throw asResponseTooLarge(error, maxAnswerBytes, exportedRows);
  }
}
