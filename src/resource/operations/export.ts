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
import { Problem } from "../../problem/problem.ts";
import { createYieldTurn } from "../../runtime/event_loop.ts";
import type { ColumnInfo } from "../../schema/table_info.ts";
import { cacheControl, variesByAccept } from "../http/json_reply.ts";
import { planReadAfterRow } from "../read/read_after_row.ts";
import { limitedReadConnection } from "../read/limited_reads.ts";
import { exportPages, firstPageRows, readAtOnce } from "../read/export_pages.ts";
import type { Operation } from "../model/operation.ts";
import { parsePreview } from "../read/preview.ts";
import type { RowFormat, WriterOptions } from "../shape/row_format.ts";
import {
  type ListQuery,
  type ListReadPlan,
  parseListQuery,
  planList,
  resourcesReadByList,
} from "../read/list_query.ts";

interface ExportIntent {
  readonly selection: ListQuery;
  readonly limit: number;
  readonly form: WriterOptions;
}

interface ExportOutcome {
  readonly columns: readonly ColumnInfo[];
  readonly first: RowPage;
  readonly walk: RowPages;
  /** Returns true if the client has disconnected. */
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
        throw new Problem("invalid-parameter", `Cannot use "${name}" in an export: ask for JSON`);
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
      // Reads the first page before the status is sent. Otherwise a query that fails immediately
      // would result in a 200 with an incomplete body.
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
        // Pages are read only as fast as the client receives them, and until it disconnects.
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

/** Returns the last segment of the path, without characters that are invalid in a file name. */
function fileName({ url }: Resource): string {
  return url.slice(url.lastIndexOf("/") + 1).replace(/[^\w-]+/g, "_");
}
