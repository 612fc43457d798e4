import { fetchRows } from "../db/rows.ts";
import { and } from "../filter/filter.ts";
import { keyFilter, parseKey } from "../plan/key.ts";
import type { ReadPlan } from "../plan/plan.ts";
import { parseSelect } from "../plan/select.ts";
import type { ColumnInfo, Row } from "../schema/table_info.ts";
import { answer } from "./answer.ts";
import { type KeyIntent, notFound } from "./not_found.ts";
import type { Operation } from "./operation.ts";
import { presentRow } from "./output.ts";
import type { Resource } from "./resource.ts";

interface GetIntent extends KeyIntent {
  readonly visible: readonly ColumnInfo[];
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

  parse({ segment, query }, resource) {
    return {
      segment,
      key: parseKey(segment, resource.table),
      visible: parseSelect(query.get("select") ?? null, resource.fields.readable),
    };
  },

  plan({ key, segment, visible }, grant, resource) {
    if (key === null) throw notFound(resource, segment);
    const { table } = resource;
    const columns = readFor(visible, resource);
    const where = and(grant.rows, keyFilter(key, table));
    return {
      segment,
      read: { kind: "read", table, columns, where, order: [], after: null, limit: null },
    };
  },

  async execute({ read, segment }, resource) {
    const { rows } = await fetchRows(resource.driver, read, resource.reader);
    const [row] = rows;
    if (row === undefined) throw notFound(resource, segment);
    return row;
  },

  shape(row, { visible }, resource) {
    return answer(200, presentRow(row, readFor(visible, resource), visible));
  },
};

/** A select that names nothing that is shown still has to read something. */
function readFor(visible: readonly ColumnInfo[], resource: Resource): readonly ColumnInfo[] {
  return visible.length === 0 ? resource.table.primaryKey : visible;
}
