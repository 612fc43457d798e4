import { fetchCount, fetchRows } from "../db/rows.ts";
import { and, type Filter } from "../filter/filter.ts";
import { openCursor, sealCursor } from "../plan/cursor.ts";
import { parseOrder } from "../plan/order.ts";
import { parseLimit } from "../plan/page.ts";
import type { CountPlan, OrderKey, ReadPlan } from "../plan/plan.ts";
import { parseSelect } from "../plan/select.ts";
import type { ColumnInfo, Row } from "../schema/table_info.ts";
import type { SqlValue } from "../sql/fragment.ts";
import { answer } from "./answer.ts";
import { type Include, reachedBy, readInclude } from "./include.ts";
import { loadIncluded } from "./load_included.ts";
import type { FurtherRights, Operation } from "./operation.ts";
import { columnsOf, type Included, noneIncluded, presentRows, type View } from "./output.ts";
import { parseFlag } from "./query.ts";
import type { Resource } from "./resource.ts";
import { shownRows, type WalkingFilter, walkingFilter } from "./user_filter.ts";

interface ListIntent {
  readonly filter: WalkingFilter;
  readonly shown: Filter;
  readonly view: View;
  readonly order: readonly OrderKey[];
  readonly after: readonly SqlValue[] | null;
  readonly limit: number;
  readonly withTotal: boolean;
}

interface ListPlan {
  readonly read: ReadPlan;
  readonly total: CountPlan | null;
  readonly include: readonly Include[];
  readonly related: FurtherRights["related"];
}

interface ListOutcome {
  readonly rows: readonly Row[];
  readonly stored: readonly (readonly SqlValue[])[];
  readonly columns: readonly ColumnInfo[];
  readonly totalCount: number | null;
  readonly included: readonly Included[];
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
      filter: walkingFilter(query.get("filter"), resource),
      shown: shownRows(query, resource),
      view: {
        visible: parseSelect(query.get("select") ?? null, resource.fields.readable),
        computed: resource.computed,
        include: readInclude(query.get("include"), resource),
      },
      order,
      after: cursor === "" ? null : openCursor(cursor, resource.url, order, resource.sealer),
      limit: parseLimit(query.get("limit") ?? null, resource.page),
      withTotal: query.get("totalCount") === "estimated" || parseFlag(query, "totalCount"),
    };
  },

  reaches({ filter, view }) {
    if (view.include.length === 0) return filter.reached;
    return new Set([...filter.reached, ...reachedBy(view.include)]);
  },

  plan(intent, grant, resource, { related }) {
    const where = and(grant.rows, intent.filter.within(related), intent.shown);
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
      total: intent.withTotal ? { kind: "count", table: resource.table, where } : null,
      include: intent.view.include,
      related,
    };
  },

  async execute({ read, total, include, related }, { resource }) {
    const { driver, reader } = resource;
    const { rows, stored } = await fetchRows(driver, read, reader);
    const totalCount = total === null ? null : await fetchCount(driver, total, reader);
    const included = include.length === 0
      ? noneIncluded
      : await loadIncluded(rows.slice(0, (read.limit ?? 0) - 1), include, related, driver);
    return { rows, stored, columns: read.columns, totalCount, included };
  },

  shape(outcome, intent, resource) {
    const { rows, columns, included, totalCount } = outcome;
    const hasMore = rows.length > intent.limit;
    const page = hasMore ? rows.slice(0, intent.limit) : rows;
    return answer(200, {
      items: presentRows(page, columns, intent.view, included),
      nextCursor: hasMore ? nextCursor(outcome, intent, resource) : null,
      hasMore,
      ...(totalCount === null ? {} : { totalCount }),
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
