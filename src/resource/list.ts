import { fetchRows } from "../db/rows.ts";
import { allRows, and, type Filter } from "../filter/filter.ts";
import { openCursor, sealCursor } from "../plan/cursor.ts";
import { parseOrder } from "../plan/order.ts";
import { parseLimit } from "../plan/page.ts";
import type { OrderKey, ReadPlan } from "../plan/plan.ts";
import { parseSelect } from "../plan/select.ts";
import type { ColumnInfo, Row } from "../schema/table_info.ts";
import type { SqlValue } from "../sql/fragment.ts";
import { answer } from "./answer.ts";
import type { Operation } from "./operation.ts";
import { columnsOf, presentRows, type View } from "./output.ts";
import type { Resource } from "./resource.ts";
import {
  fetchTotal,
  parseTotal,
  planTotal,
  type Total,
  type TotalPlan,
  type TotalWish,
} from "./total.ts";
import { shownRows, userFilter } from "./user_filter.ts";

interface ListIntent {
  readonly filter: Filter;
  readonly view: View;
  readonly order: readonly OrderKey[];
  readonly after: readonly SqlValue[] | null;
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
    const order = parseOrder(
      query.get("orderBy") ?? null,
      resource.table,
      (column) => resource.fields.sortable.has(column),
    );
    const cursor = query.get("cursor") ?? "";
    return {
      filter: and(
        userFilter(query.get("filter"), resource) ?? allRows,
        shownRows(query, resource),
      ),
      view: {
        visible: parseSelect(query.get("select") ?? null, resource.fields.readable),
        computed: resource.computed,
      },
      order,
      after: cursor === "" ? null : openCursor(cursor, resource.url, order, resource.sealer),
      limit: parseLimit(query.get("limit") ?? null, resource.page),
      total: parseTotal(query),
    };
  },

  plan(intent, grant, resource) {
    const where = and(grant.rows, intent.filter);
    return {
      read: {
        kind: "read",
        table: resource.table,
        columns: columnsFor(intent, resource),
        where,
        order: intent.order,
        after: intent.after,
        // One more than asked for tells whether there is another page.
        limit: intent.limit + 1,
      },
      total: intent.total === "none" ? null : planTotal(where, intent.total, grant, resource),
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
      items: presentRows(page, outcome.columns, intent.view),
      nextCursor: hasMore ? nextCursor(outcome, intent, resource) : null,
      hasMore,
      ...outcome.total,
    });
  },
};

/** What is shown, and what the cursor is made of. */
function columnsFor({ view, order }: ListIntent, { table }: Resource): readonly ColumnInfo[] {
  const columns = columnsOf(view, table.columns);
  const missing = order.map(({ column }) => column).filter((column) => !columns.includes(column));
  return missing.length === 0 ? columns : [...columns, ...missing];
}

function nextCursor(outcome: ListOutcome, intent: ListIntent, resource: Resource): string {
  const last = outcome.stored[intent.limit - 1] ?? [];
  const values = intent.order.map(({ column }) => last[outcome.columns.indexOf(column)] ?? null);
  return sealCursor(values, resource.url, intent.order, resource.sealer);
}
