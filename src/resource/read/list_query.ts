import type { Grant } from "../../auth/authorize.ts";
import { allRows, and, type Filter } from "../../filter/filter.ts";
import { countedFrom } from "../../plan/counted_position.ts";
import { type CountedPosition, type CursorPosition, openCursor } from "../../plan/cursor.ts";
import { isCounted, parseOrder } from "../../plan/order.ts";
import type { OrderKey, ReachedPosition, ReadPlan } from "../../plan/plan.ts";
import { fromTheStart } from "../../plan/reached_position.ts";
import { Problem } from "../../problem/problem.ts";
import type { ColumnInfo, TableInfo } from "../../schema/table_info.ts";
import type { ContinuedRow } from "./continue_read.ts";
import { reachedByIncludes, resolveInclude } from "./resolve_include.ts";
import type { RelatedGrants } from "../model/operation.ts";
import { columnsOf, type RelationFilter, type View, viewOf } from "../shape/output.ts";
import { parseFlag, type Query } from "../http/query_parameters.ts";
import type { Resource } from "../model/resource.ts";
import { parseQueryFilter } from "./user_filter.ts";

/**
 * The parsed query of a list or an export: which rows, in which order, and which of their fields.
 */
export interface ListQuery {
  readonly filter: RelationFilter;
  /** All rows, or those that are not marked deleted. */
  readonly softDeleteFilter: Filter;
  readonly view: View;
  readonly order: readonly OrderKey[];
  readonly after: CursorPosition | null;
  /** How many rows of the order are skipped; 0 where it continues at a position. */
  readonly offset: number;
}

/**
 * The filter by which lists and counts leave out soft-deleted rows, except with `withDeleted=true`.
 */
export function softDeleteFilter(
  query: Query,
  { undeleted }: Pick<Resource, "undeleted">,
): Filter {
  return parseFlag(query, "withDeleted") ? allRows : undeleted;
}

/** Parses the query parameters that lists and exports share. */
export function parseListQuery(query: Query, resource: Resource): ListQuery {
  const { table, fields } = resource;
  const order = parseOrder(query.get("orderBy") ?? null, table, fields);
  const cursor = query.get("cursor") ?? "";
  return {
    filter: parseQueryFilter(query, resource),
    softDeleteFilter: softDeleteFilter(query, resource),
    view: viewOf(resource, query.get("select"), resolveInclude(query.get("include"), resource)),
    order,
    after: cursor === ""
      ? null
      : openCursor(cursor, { resource: resource.url, order, sealer: resource.sealer }),
    offset: 0,
  };
}

/** The query parameter that skips rows, of lists alone. */
export const offsetParameter: ReadonlySet<string> = new Set(["offset"]);

/** Further rows are reached by a cursor, which costs the same on every page. */
const maxOffset = 10_000;

/**
 * The query of a list with its parameter `offset`. Throws a 400 beside a cursor, and for more rows
 * than a list skips.
 */
export function skipRows(listQuery: ListQuery, query: Query, { table }: Resource): ListQuery {
  const text = query.get("offset");
  if (text === undefined) return listQuery;
  const refused = (reason: string) => new Problem("invalid-parameter", reason);
  if (!/^[0-9]+$/.test(text)) {
    throw refused("Cannot use this offset: it must be a whole number from 0 on");
  }
  if (listQuery.after !== null) {
    throw refused("Cannot use offset and cursor together: a cursor is a position already");
  }
  const offset = Number(text);
  if (offset > maxOffset) {
    throw refused(
      `Cannot skip so many rows: offset must be ${maxOffset} at most. Continue by the nextCursor ` +
        "of a page, or filter by what its last row has",
    );
  }
  if (isCounted(listQuery.order)) {
    return { ...listQuery, after: { kind: "counted", ...countedFrom(offset) } };
  }
  // Where rows may be equal, positions are rows to skip.
  return table.distinct
    ? { ...listQuery, offset }
    : { ...listQuery, after: { kind: "reached", values: [], skip: offset } };
}

/**
 * The value of a list's query parameter `totalCount`: whether all rows are counted, or their number
 * is estimated.
 */
export type TotalCountMode = "none" | "exact" | "estimated";

/** Parses a list's query parameter `totalCount`. Throws a 400 for any other value. */
export function parseTotalCount(query: Query): TotalCountMode {
  if (query.get("totalCount") === "estimated") return "estimated";
  return parseFlag(query, "totalCount") ? "exact" : "none";
}

/** The other resources that the query of a list reads. */
export function reachedByList({ filter, view }: ListQuery): ReadonlySet<Resource> {
  if (view.include.length === 0) return filter.reached;
  return new Set([...filter.reached, ...reachedByIncludes(view.include)]);
}

/** The grants that the query of a list is planned with. */
export interface ListRights extends Pick<RelatedGrants, "related"> {
  readonly grant: Grant;
}

/** The plan of a list's query. */
export interface ListRead {
  readonly read: ReadPlan;
  /** The row after which the list continues, which is read first; null if it is known already. */
  readonly from: ContinuedRow | null;
  /** Where positions are counted: that of the page, whose rows come after those that are compared. */
  readonly counted: CountedPosition | null;
}

/** Plans the query of a list within its grants, for `limit` rows. */
export function planList(
  listQuery: ListQuery,
  { grant, related }: ListRights,
  { table }: Resource,
  limit: number,
): ListRead {
  const { filter, softDeleteFilter, order, after } = listQuery;
  const counted = countedPosition(listQuery);
  const read: ReadPlan = {
    kind: "read",
    table,
    columns: columnsFor(listQuery, table),
    where: and(grant.rows, filter.restrictTo(related), softDeleteFilter),
    order,
    after: after?.kind === "values" ? after.values : null,
    limit: limit + (counted?.compared ?? 0),
    ...fromOf(listQuery, table),
    ...(listQuery.offset === 0 ? {} : { offset: listQuery.offset }),
  };
  const from = after?.kind === "row" ? { position: after, visible: grant.rows } : null;
  return { read, from, counted };
}

/** The position of a page in a list whose positions are counted; null in any other. */
export function countedPosition(
  { order, after }: Pick<ListQuery, "order" | "after">,
): CountedPosition | null {
  if (!isCounted(order)) return null;
  return after?.kind === "counted" ? after : countedFrom(0);
}

function fromOf(listQuery: ListQuery, table: TableInfo): Pick<ReadPlan, "from"> {
  const counted = countedPosition(listQuery);
  if (counted !== null) return { from: { values: [], skip: counted.rows - counted.compared } };
  return table.distinct ? {} : { from: reachedPosition(listQuery.after) };
}

/** The position of a cursor in a list whose rows may be equal; its start where there is none. */
export function reachedPosition(after: CursorPosition | null): ReachedPosition {
  return after?.kind === "reached" ? { values: after.values, skip: after.skip } : fromTheStart;
}

/** The shown columns, and those of the order, which cursors are made of. */
function columnsFor({ view, order }: ListQuery, table: TableInfo): readonly ColumnInfo[] {
  const columns = columnsOf(view, table);
  const missing = order.map(({ column }) => column).filter((column) => !columns.includes(column));
  return missing.length === 0 ? columns : [...columns, ...missing];
}
