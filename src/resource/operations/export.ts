import { DatabaseError } from "../../db/database_error.ts";
import { type RowPage, type RowPages, rowPages, toRowPages } from "../../db/row_pages.ts";
import {
  type PageLimits,
  parseDelimiter,
  parseFlag,
  parseLimit,
  type Query,
} from "../http/query_parameters.ts";
import type { Resource } from "../model/resource.ts";
import { invalidParameter } from "../../problem/problem.ts";
import { createYieldTurn, type YieldTurn } from "../../runtime/runtime.ts";
import type { ColumnInfo } from "../../schema/table_info.ts";
import { cacheControl, variesByAccept } from "../http/json_reply.ts";
import { planReadAfterRow } from "../read/read_after_row.ts";
import { limitedReadConnection, responseReadConnection } from "../read/limited_reads.ts";
import type { Operation, ResourceCall } from "../model/operation.ts";
import { parsePreview } from "../read/fetch_preview.ts";
import type { RowFormat, RowWriter, WriterOptions } from "../shape/row_format.ts";
import {
  type ListQuery,
  type ListReadPlan,
  parseListQuery,
  planList,
  resourcesReadByList,
} from "../read/list_query.ts";
import { bytesOfRow } from "../../db/row_bytes.ts";
import { type FetchedRows, fetchRows } from "../../db/rows.ts";
import { countedPositionAfter } from "../../plan/reached_position.ts";
import type { CountedPosition } from "../../plan/cursor.ts";
import type { ReadPlan } from "../../plan/plan.ts";
import { ResponseAborted } from "../../problem/response_aborted.ts";
import { maskRows, type View } from "../shape/output.ts";
import { asResponseTooLarge, type ResponsePart } from "../http/response_byte_budget.ts";

interface ExportIntent {
  readonly selection: ListQuery;
  readonly limit: number;
  readonly form: WriterOptions;
}

interface ExportOutcome {
  readonly columns: readonly ColumnInfo[];
  readonly first: RowPage;
  readonly walk: RowPages;
  hasLeft(): boolean;
}

/** `GET /` with an `Accept` header that prefers `format`: streams all rows of a list. */
export function exportRows(
  format: RowFormat,
): Operation<ExportIntent, ListReadPlan, ExportOutcome> {
  return {
    name: "export",
    access: "read",
    takesBody: false,

    parse({ query }, resource) {
      const ofPages = ["include", "offset"].find((name) => (query.get(name) ?? "") !== "");
      if (ofPages !== undefined || parsePreview(query) !== null) {
        const name = ofPages ?? "preview";
        throw invalidParameter(`Cannot use "${name}" in an export: ask for JSON`);
      }
      return {
        selection: parseListQuery(query, resource),
        limit: parseLimit(query.get("limit") ?? null, unlimited),
        form: parseForm(query, resource),
      };
    },

    readsFrom({ selection }) {
      return resourcesReadByList(selection);
    },

    plan({ selection }, grant, resource, { related }) {
      return planList(selection, { grant, related }, resource, firstPageRows);
    },

    async execute({ read, from, counted }, call) {
      const { reader } = call.resource;
      const plan = from === null
        ? read
        : await planReadAfterRow(read, from, limitedReadConnection(call), reader);
      const walk = counted === null
        ? rowPages((maxBytes) => limitedReadConnection(call, maxBytes), plan, reader)
        : toRowPages(await readAtOnce(plan, counted, call));
      // Reads the first page before the status is sent, so that a failed read has an error status.
      const first = await walk.next(firstPageRows);
      const hasLeft = () => call.request.signal().aborted;
      return { columns: plan.columns, first, walk, hasLeft };
    },

    shape({ columns, first, walk, hasLeft }, { selection, limit, form }, resource) {
      const pages = exportPages(first, walk, {
        columns,
        limit,
        view: selection.view,
        writer: format.writer(selection.view, form),
        giveTurn: createYieldTurn(resource.runtime.clock),
        failed(error) {
          const mayBeLeft = error instanceof DatabaseError &&
            (error.kind === "too-slow" || error.kind === "overloaded");
          if (mayBeLeft && hasLeft()) return;
          resource.runtime.observe({ kind: "answer_broke_off", path: resource.url, error });
        },
      });
      return {
        status: 200,
        headers: {
          "content-type": format.contentType + (selection.view.safeNumbers ? ";numbers=safe" : ""),
          "content-disposition": `attachment; filename="${fileName(resource)}${format.ending}"`,
          "cache-control": cacheControl,
          ...variesByAccept,
        },
        body: ReadableStream.from(pages),
      };
    },
  };
}

function parseForm(query: Query, resource: Resource): WriterOptions {
  const bom = parseFlag(query, "bom");
  // A file with a byte order mark is for a spreadsheet, which would evaluate formulas.
  const escapesFormulas = resource.escapesFormulas || bom;
  return { delimiter: parseDelimiter(query.get("delimiter") ?? ","), bom, escapesFormulas };
}

const unlimited: PageLimits = { defaultLimit: Infinity, maxLimit: Infinity };

function fileName({ url }: Resource): string {
  return url.slice(url.lastIndexOf("/") + 1).replace(/[^\w-]+/g, "_");
}

/** The number of rows in the first page. It is small, because the size of rows is unknown. */
const firstPageRows = 64;

const maxPageRows = 512;

const pageBytes = 256 * 1024;

async function* exportPages(
  first: RowPage,
  walk: RowPages,
  { columns, view, limit, writer, giveTurn, failed }: {
    readonly columns: readonly ColumnInfo[];
    readonly view: View;
    readonly limit: number;
    readonly writer: RowWriter;
    readonly giveTurn: YieldTurn;
    failed(error: unknown): void;
  },
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
    // Aborts the response, so that the client can detect that the export is incomplete.
    throw new ResponseAborted(error);
  }
}

/** Returns how many rows fill a page, as a power of two: each size needs a prepared statement. */
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

/** Reads all rows by one statement. The rows count against the limit for undelivered responses. */
async function readAtOnce(
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
