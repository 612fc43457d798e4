import type { Grant } from "../../auth/authorize.ts";
import { and, type Filter } from "../../filter/filter.ts";
import { openCursor } from "../../plan/cursor.ts";
import { parseOrder } from "../../plan/order.ts";
import type { OrderKey, ReadPlan } from "../../plan/plan.ts";
import type { ColumnInfo, TableInfo } from "../../schema/table_info.ts";
import type { SqlValue } from "../../sql/fragment.ts";
import { reachedBy, resolveInclude } from "./resolve_include.ts";
import type { RelatedGrants } from "../operation.ts";
import { columnsOf, type View, viewOf } from "../output.ts";
import type { Query } from "../http/query_parameters.ts";
import type { Resource } from "../define/resource.ts";
import { shownRows, type WalkingFilter, walkingFilter } from "./user_filter.ts";

/** Which rows are asked for, in which order, and what is shown of them: for lists and exports. */
export interface Selection {
  readonly filter: WalkingFilter;
  /** All, or those that are not marked deleted. */
  readonly shown: Filter;
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
    filter: walkingFilter(query.get("filter"), resource),
    shown: shownRows(query, resource),
    view: viewOf(resource, query.get("select"), resolveInclude(query.get("include"), resource)),
    order,
    after: cursor === "" ? null : openCursor(cursor, resource.url, order, resource.sealer),
  };
}

/** The other resources that a selection reads. */
export function reachOf({ filter, view }: Selection): ReadonlySet<Resource> {
  if (view.include.length === 0) return filter.reached;
  return new Set([...filter.reached, ...reachedBy(view.include)]);
}

/** The rights that a selection is planned with. */
export interface SelectionRights extends Pick<RelatedGrants, "related"> {
  readonly grant: Grant;
}

/** The rows of a selection that may be touched, `limit` of them. */
export function planSelection(
  selection: Selection,
  { grant, related }: SelectionRights,
  { table }: Resource,
  limit: number,
): ReadPlan {
  const { filter, shown, order, after } = selection;
  return {
    kind: "read",
    table,
    columns: columnsFor(selection, table),
    where: and(grant.rows, filter.within(related), shown),
    order,
    after,
    limit,
  };
}

/** What is shown, and what a position in the order is made of. */
function columnsFor({ view, order }: Selection, table: TableInfo): readonly ColumnInfo[] {
  const columns = columnsOf(view, table);
  const missing = order.map(({ column }) => column).filter((column) => !columns.includes(column));
  return missing.length === 0 ? columns : [...columns, ...missing];
}
