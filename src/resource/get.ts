import { fetchRows } from "../db/rows.ts";
import { and } from "../filter/filter.ts";
import { type Key, keyFilter, parseKey } from "../plan/key.ts";
import type { ReadPlan } from "../plan/plan.ts";
import { parseSelect } from "../plan/select.ts";
import type { ColumnInfo, Row } from "../schema/table_info.ts";
import { answer, cacheControl, tagHeaders } from "./answer.ts";
import { namesTag } from "./etag.ts";
import { notFound } from "./missed_row.ts";
import type { Operation } from "./operation.ts";
import { columnsOf, presentRow, type View } from "./output.ts";
import type { Resource } from "./resource.ts";

interface GetIntent {
  readonly segment: string;
  readonly key: Key | null;
  readonly view: View;
  readonly ifNoneMatch: string | null;
}

interface GetPlan {
  readonly read: ReadPlan;
  readonly segment: string;
}

/** `GET /:id`: one row. */
export const get: Operation<GetIntent, GetPlan, Row> = {
  name: "get",
  access: "read",
  takesBody: false,

  parse({ segment, query, header }, { table, fields, computed, etag }) {
    return {
      segment,
      key: parseKey(segment, table),
      view: { visible: parseSelect(query.get("select") ?? null, fields.readable), computed },
      ifNoneMatch: etag === null ? null : header("if-none-match"),
    };
  },

  plan({ key, segment, view }, grant, resource) {
    if (key === null) throw notFound(resource, segment);
    const { table, live } = resource;
    const columns = readFor(view, resource);
    const where = and(grant.rows, live, keyFilter(key, table));
    return {
      segment,
      read: { kind: "read", table, columns, where, order: [], after: null, limit: null },
    };
  },

  execute({ read, segment }, { resource }) {
    return fetchRows(resource.driver, read, resource.reader).then(({ rows: [row] }) => {
      if (row === undefined) throw notFound(resource, segment);
      return row;
    });
  },

  shape(row, { view, ifNoneMatch }, resource) {
    const shown = presentRow(row, readFor(view, resource), view);
    if (resource.etag === null) return answer(200, shown);
    const headers = tagHeaders(row, resource.etag);
    const isKnown = ifNoneMatch !== null && namesTag(ifNoneMatch, headers.etag ?? "");
    return isKnown
      ? { status: 304, headers: { "cache-control": cacheControl, ...headers }, body: null }
      : answer(200, shown, headers);
  },
};

/** A tag is made of the whole row; and a select that names nothing still has to read something. */
function readFor(view: View, { etag, table }: Resource): readonly ColumnInfo[] {
  if (etag !== null) return table.columns;
  const columns = columnsOf(view, table.columns);
  return columns.length === 0 ? table.primaryKey : columns;
}
