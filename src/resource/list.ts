import { fetchRows } from "../db/rows.ts";
import { sealCursor } from "../plan/cursor.ts";
import { parseLimit } from "../plan/page.ts";
import type { ReadPlan } from "../plan/plan.ts";
import { positionOf } from "../plan/position.ts";
import type { ColumnInfo, Row } from "../schema/table_info.ts";
import type { SqlValue } from "../sql/fragment.ts";
import { answer, variesByAccept } from "./answer.ts";
import type { Operation } from "./operation.ts";
import { presentRows } from "./output.ts";
import type { Resource } from "./resource.ts";
import { parseSelection, planSelection, type Selection } from "./selection.ts";
import {
  fetchTotal,
  parseTotal,
  planTotal,
  type Total,
  type TotalPlan,
  type TotalWish,
} from "./total.ts";

interface ListIntent {
  readonly selection: Selection;
  readonly limit: number;
  readonly total: TotalWish;
}

interface ListPlan {
  readonly read: ReadPlan;
  readonly total: TotalPlan | null;
}

interface ListOutcome {
  readonly rows: readonly Row[];
  readonly stored: readonly (readonly SqlValue[])[];
  readonly columns: readonly ColumnInfo[];
  readonly total: Total | null;
}

/** `GET /`: a page of rows, in order, with a cursor to the next one. */
export const list: Operation<ListIntent, ListPlan, ListOutcome> = {
  name: "list",
  access: "read",
  takesBody: false,

  parse({ query }, resource) {
    return {
      selection: parseSelection(query, resource),
      limit: parseLimit(query.get("limit") ?? null, resource.page),
      total: parseTotal(query),
    };
  },

  plan({ selection, limit, total }, grant, resource) {
    // One more than asked for tells whether there is another page.
    const read = planSelection(selection, grant, resource, limit + 1);
    return {
      read,
      total: total === "none" ? null : planTotal(read.where, total, grant, resource),
    };
  },

  async execute(plan, { resource }) {
    const { rows, stored } = await fetchRows(resource.driver, plan.read, resource.reader);
    const total = plan.total === null ? null : await fetchTotal(plan.total, {
      read: plan.read,
      found: rows.length,
    }, resource);
    return { rows, stored, columns: plan.read.columns, total };
  },

  shape(outcome, intent, resource) {
    const hasMore = outcome.rows.length > intent.limit;
    const page = hasMore ? outcome.rows.slice(0, intent.limit) : outcome.rows;
    return answer(200, {
      items: presentRows(page, outcome.columns, intent.selection.view),
      nextCursor: hasMore ? nextCursor(outcome, intent, resource) : null,
      hasMore,
      ...outcome.total,
    }, resource.capabilities.enableExport ? variesByAccept : undefined);
  },
};

function nextCursor(outcome: ListOutcome, intent: ListIntent, resource: Resource): string {
  const { order } = intent.selection;
  const last = outcome.stored[intent.limit - 1] ?? [];
  const position = positionOf(last, outcome.columns, order);
  return sealCursor(position, resource.url, order, resource.sealer);
}
