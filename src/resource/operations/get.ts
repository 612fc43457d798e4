import { type FetchedRows, fetchRows } from "../../db/rows.ts";
import { and } from "../../filter/filter.ts";
import { type Key, keyFilter, parseKey } from "../../plan/key.ts";
import type { ReadPlan } from "../../plan/plan.ts";
import { chain } from "../../runtime/maybe_promise.ts";
import type { ColumnInfo, Row } from "../../schema/table_info.ts";
import { cacheControl, limitedReply, variesByAccept } from "../http/json_reply.ts";
import {
  columnsOf,
  etagHeaders,
  hasFunctionColumns,
  type Included,
  maskRows,
  noneIncluded,
  type View,
  viewOf,
} from "../shape/output.ts";
import { matchesIfNoneMatch } from "../http/etag.ts";
import {
  countRowBytes,
  createRowByteCounter,
  type ResponseByteBudget,
  singleRowPart,
} from "../http/response_byte_budget.ts";
import { notFound } from "../rights/not_found_or_forbidden.ts";
import { resolveInclude, resourcesReadByIncludes } from "../read/resolve_include.ts";
import { responseReadConnection } from "../read/limited_reads.ts";
import { loadIncluded } from "../read/load_included.ts";
import type { AdditionalGrants, Operation, ResourceCall } from "../model/operation.ts";
import type { Resource } from "../model/resource.ts";

interface GetIntent {
  readonly segment: string;
  readonly key: Key | null;
  readonly view: View;
  readonly ifNoneMatch: string | null;
}

interface GetPlan {
  readonly read: ReadPlan;
  readonly segment: string;
  readonly view: View;
  readonly related: AdditionalGrants["related"];
}

interface GetOutcome {
  readonly row: Row;
  readonly included: readonly Included[];
  readonly bytes: ResponseByteBudget;
}

export const get: Operation<GetIntent, GetPlan, GetOutcome> = {
  name: "get",
  access: "read",
  takesBody: false,

  parse({ segment, query, header }, resource) {
    const { table, etag } = resource;
    const include = resolveInclude(query.get("include"), resource);
    // The ETag covers only the row. Included rows can change although the ETag stays the same.
    const hasCondition = etag !== null && include.length === 0;
    return {
      segment,
      key: parseKey(segment, table),
      view: viewOf(resource, query.get("select"), include),
      ifNoneMatch: hasCondition ? header("if-none-match") : null,
    };
  },

  readsFrom({ view }) {
    return resourcesReadByIncludes(view.include);
  },

  plan({ key, segment, view }, grant, resource, { related }) {
    if (key === null) throw notFound(resource, segment);
    const { table, undeleted } = resource;
    const columns = readFor(view, resource);
    const where = and(grant.rows, undeleted, keyFilter(key, table));
    return {
      segment,
      read: {
        ...{ kind: "read", table, columns, where, order: [], after: null },
        // If the database does not enforce the key, one of several rows with the key is returned.
        limit: table.distinct ? null : 1,
      },
      view,
      related,
    };
  },

  execute(plan, call) {
    const { resource } = call;
    const { read, segment, view } = plan;
    const limit = resource.readCosts.maxAnswerBytes;
    const bytes: ResponseByteBudget = { limit, left: limit };
    const count = (stored: FetchedRows["stored"]) =>
      countRowBytes(bytes, stored, createRowByteCounter(read.columns, view.visible), singleRowPart);
    // Reads of large rows, and of views (often without an index), wait in the queue for lists.
    const isLong = call.request.delivery?.mayBeLarge === true || !resource.table.recordable;
    const connection = isLong ? responseReadConnection(call) : resource.driver;
    return chain(fetchRows(connection, read, resource.reader, count), ({ rows: [row] }) => {
      if (row === undefined) throw notFound(resource, segment);
      const alone = { row, included: noneIncluded, bytes };
      return view.include.length === 0 ? alone : withIncluded(alone, plan, call);
    });
  },

  shape({ row, included, bytes: { limit, left } }, { view, ifNoneMatch }, resource) {
    const [shown] = maskRows([row], readFor(view, resource), view, included);
    const size = { limit, counted: limit - left, part: singleRowPart };
    // The ETag covers only the stored row. A function's result can change while the row does not.
    if (resource.etag === null || hasFunctionColumns(view)) return limitedReply(200, shown, size);
    const headers = etagHeaders(row, resource.etag);
    const isKnown = ifNoneMatch !== null && matchesIfNoneMatch(ifNoneMatch, row, resource.etag);
    return isKnown
      ? {
        status: 304,
        headers: { "cache-control": cacheControl, ...variesByAccept, ...headers },
        body: null,
      }
      : limitedReply(200, shown, size, headers);
  },
};

async function withIncluded(
  { row, bytes }: GetOutcome,
  { view, related }: GetPlan,
  call: ResourceCall,
): Promise<GetOutcome> {
  const reads = { connection: responseReadConnection(call), bytes };
  return { row, included: await loadIncluded([row], view.include, related, reads), bytes };
}

function readFor(view: View, { etag, table, stored }: Resource): readonly ColumnInfo[] {
  return etag === null || hasFunctionColumns(view) ? columnsOf(view, table) : stored;
}
