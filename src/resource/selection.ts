import type { Grant } from "../auth/authorize.ts";
import { allRows, and, type Filter } from "../filter/filter.ts";
import { openCursor } from "../plan/cursor.ts";
import { parseOrder } from "../plan/order.ts";
import type { OrderKey, ReadPlan } from "../plan/plan.ts";
import { parseSelect } from "../plan/select.ts";
import type { ColumnInfo } from "../schema/table_info.ts";
import type { SqlValue } from "../sql/fragment.ts";
import { columnsOf, type View } from "./output.ts";
import type { Query } from "./query.ts";
import type { Resource } from "./resource.ts";
import { shownRows, userFilter } from "./user_filter.ts";

/** Which rows are asked for, in which order, and what is shown of them: for lists and exports. */
export interface Selection {
  readonly filter: Filter;
  readonly view: View;
  readonly order: readonly OrderKey[];
  readonly after: readonly SqlValue[] | null;
}

/** The parameters that lists and exports share. */
export function parseSelection(query: Query, resource: Resource): Selection {
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
  };
}

/** The rows of a selection that may be touched, `limit` of them. */
export function planSelection(
  selection: Selection,
  grant: Grant,
  { table }: Resource,
  limit: number,
): ReadPlan {
  const { filter, order, after } = selection;
  return {
    kind: "read",
    table,
    columns: columnsFor(selection, table.columns),
    where: and(grant.rows, filter),
    order,
    after,
    limit,
  };
}

/** What is shown, and what a position in the order is made of. */
function columnsFor(
  { view, order }: Selection,
  whole: readonly ColumnInfo[],
): readonly ColumnInfo[] {
  const columns = columnsOf(view, whole);
  const missing = order.map(({ column }) => column).filter((column) => !columns.includes(column));
  return missing.length === 0 ? columns : [...columns, ...missing];
}
