import type { Connection } from "../../db/driver.ts";
import { fetchRows } from "../../db/rows.ts";
import { and } from "../../filter/filter.ts";
import { type Key, keyFilter, parseKey } from "../../plan/key.ts";
import type { ReadPlan } from "../../plan/plan.ts";
import type { ColumnInfo, Row } from "../../schema/table_info.ts";
import { cacheControl, jsonReply, tagHeaders } from "../http/json_reply.ts";
import { matchesIfNoneMatch } from "../http/etag.ts";
import { notFound } from "../read/not_found_or_forbidden.ts";
import { reachedByIncludes, resolveInclude } from "../read/resolve_include.ts";
import { limitedReads } from "../read/limited_reads.ts";
import { loadIncluded } from "../read/load_included.ts";
import type { Operation, RelatedGrants } from "../operation.ts";
import {
  columnsOf,
  type Include,
  type Included,
  noneIncluded,
  presentRows,
  type View,
  viewOf,
} from "../output.ts";
import type { Resource } from "../define/resource.ts";

interface GetIntent {
  readonly segment: string;
  readonly key: Key | null;
  readonly view: View;
  readonly ifNoneMatch: string | null;
}

interface GetPlan {
  readonly read: ReadPlan;
  readonly segment: string;
  readonly include: readonly Include[];
  readonly related: RelatedGrants["related"];
}

interface GetOutcome {
  readonly row: Row;
  readonly included: readonly Included[];
}

/** `GET /:id`: gets one row by its key. */
export const get: Operation<GetIntent, GetPlan, GetOutcome> = {
  name: "get",
  access: "read",
  takesBody: false,

  parse({ segment, query, header }, resource) {
    const { table, etag } = resource;
    const include = resolveInclude(query.get("include"), resource);
    // The tag covers the row alone: included rows may change while the row does not.
    const hasCondition = etag !== null && include.length === 0;
    return {
      segment,
      key: parseKey(segment, table),
      view: viewOf(resource, query.get("select"), include),
      ifNoneMatch: hasCondition ? header("if-none-match") : null,
    };
  },

  readsFrom({ view }) {
    return reachedByIncludes(view.include);
  },

  plan({ key, segment, view }, grant, resource, { related }) {
    if (key === null) throw notFound(resource, segment);
    const { table, undeleted } = resource;
    const columns = readFor(view, resource);
    const where = and(grant.rows, undeleted, keyFilter(key, table));
    return {
      segment,
      read: { kind: "read", table, columns, where, order: [], after: null, limit: null },
      include: view.include,
      related,
    };
  },

  execute(plan, call) {
    const { resource } = call;
    const { read, segment, include } = plan;
    return fetchRows(resource.driver, read, resource.reader).then(({ rows: [row] }) => {
      if (row === undefined) throw notFound(resource, segment);
      return include.length === 0
        ? { row, included: noneIncluded }
        : withIncluded(row, plan, limitedReads(call));
    });
  },

  shape({ row, included }, { view, ifNoneMatch }, resource) {
    const [shown] = presentRows([row], readFor(view, resource), view, included);
    if (resource.etag === null) return jsonReply(200, shown);
    const headers = tagHeaders(row, resource.etag);
    const isKnown = ifNoneMatch !== null && matchesIfNoneMatch(ifNoneMatch, row, resource.etag);
    return isKnown
      ? { status: 304, headers: { "cache-control": cacheControl, ...headers }, body: null }
      : jsonReply(200, shown, headers);
  },
};

async function withIncluded(
  row: Row,
  { include, related }: GetPlan,
  reads: Connection,
): Promise<GetOutcome> {
  return { row, included: await loadIncluded([row], include, related, reads) };
}

/** A tag is made from the whole row. */
function readFor(view: View, { etag, table }: Resource): readonly ColumnInfo[] {
  return etag === null ? columnsOf(view, table) : table.columns;
}
