import type { Grant } from "../../auth/authorize.ts";
import { allRows, and, type Filter, noRows, termsOnSameRow } from "../../filter/filter.ts";
import { countedPositionAt, startPosition } from "../../plan/reached_position.ts";
import { type CountedPosition, type CursorPosition, openCursor } from "../../plan/cursor.ts";
import { endsWithDirection, isCounted, orderProblem, parseOrder } from "../../plan/order.ts";
import type { OffsetPosition, PathColumn, ReadPlan, RelatedColumn } from "../../plan/plan.ts";
import { invalidParameter } from "../../problem/problem.ts";
import { type ColumnInfo, plainColumn, type TableInfo } from "../../schema/table_info.ts";
import type { ContinuedRow } from "./read_after_row.ts";
import { resolveInclude, resourcesReadByIncludes } from "./resolve_include.ts";
import type { AdditionalGrants } from "../model/operation.ts";
import { columnsOf, viewOf } from "../shape/output.ts";
import { parseFlag, type Query } from "../http/query_parameters.ts";
import type { Resource } from "../model/resource.ts";
import { parseQueryFilter } from "./user_filter.ts";
import { quotePath, splitPath } from "../../filter/syntax/quoted_name.ts";
import { didYouMean } from "../../problem/nearest_name.ts";
import { documentPathOf } from "../../filter/document_path.ts";
import { isSortable } from "../../schema/structured/structured_value.ts";
import type { Connection } from "../../db/driver.ts";
import { fetchCount, fetchEstimate, type RowReader } from "../../db/rows.ts";
import type { RoleRights } from "../../db/tables/table_facts.ts";

interface RelatedOrder extends Omit<RelatedColumn, "where"> {
  readonly target: Resource;
}

/** Finds the field of a sort key like `author.name`, or null if `author` is no to-one relation. */
function relatedOrderOf(path: string, index: number, resource: Resource): RelatedOrder | null {
  const [name = "", ...fields] = splitPath(path);
  const relation = resource.relations.get(name);
  if (relation === undefined || relation.toMany || !relation.filterable) return null;
  const target = resource.served.get(relation.target);
  if (target === undefined) return null;
  const { sortable, selectable } = target.fields;
  const known = selectable.filter((column) => sortable.has(column) && isSortable(column));
  const field = fields.join(".");
  const source = known.find(({ name }) => name === field);
  if (source === undefined) {
    // Returns null so that the caller reports the wrong syntax of a direction: `author.name.desc`.
    if (endsWithDirection(path)) return null;
    const hint = didYouMean(field, known.map(({ name }) => name));
    throw orderProblem(path, `: it is not a sortable field${hint}`);
  }
  const own = {
    ...{ name: `${relation.name}.${source.name}`, dbName: addedName(index, resource) },
    ...{ notNull: false, primaryKey: false, references: null },
  };
  return { column: { ...source, ...own }, source, relation, target };
}

/** Returns three sort keys for a value in a document: as a number, as a string and as a boolean. */
function pathOrderOf(text: string, index: number, resource: Resource): readonly PathColumn[] {
  const { table, fields, reader: { dialect: { jsonPaths } } } = resource;
  const found = documentPathOf(text, table.columns.filter((column) => fields.sortable.has(column)));
  if (found === null || endsWithDirection(text)) return [];
  const { source: { name, varies }, path } = found;
  return (["number", "text", "boolean"] as const).map((type, place) => ({
    ...{ ...found, type },
    column: {
      ...{ ...plainColumn, varies, kind: type === "number" ? jsonPaths.numberKind : "text" },
      name: `${quotePath([name, ...path])} ${type}`,
      dbName: addedName(index + place, resource),
    },
  }));
}

function addedName(index: number, { table: { columns } }: Resource): string {
  let name = `_order${index}`;
  while (columns.some(({ dbName }) => dbName === name)) name = `_${name}`;
  return name;
}

/** Adds the sort keys of related rows, without the values of rows that the caller cannot read. */
function planAdded(
  added: readonly (RelatedOrder | PathColumn)[],
  related: ReadonlyMap<Resource, Grant>,
): readonly (RelatedColumn | PathColumn)[] {
  return added.map((one) => {
    if (!("target" in one)) return one;
    const { target, ...column } = one;
    const grant = related.get(target);
    return { ...column, where: grant === undefined ? noRows : and(grant.rows, target.undeleted) };
  });
}

export type ListQuery = ReturnType<typeof parseListQuery>;

export function softDeleteFilter(
  query: Query,
  { undeleted }: Pick<Resource, "undeleted">,
): Filter {
  return parseFlag(query, "withDeleted") ? allRows : undeleted;
}

export function parseListQuery(query: Query, resource: Resource) {
  const { table, fields } = resource;
  const added: (RelatedOrder | PathColumn)[] = [];
  const follow = (name: string) => {
    // Rows of a table without unique keys can be sorted only by the table's own columns.
    if (!name.includes(".") || !table.distinct) return [];
    const related = relatedOrderOf(name, added.length, resource);
    const found = related === null ? pathOrderOf(name, added.length, resource) : [related];
    added.push(...found);
    return found.map(({ column }) => column);
  };
  const order = parseOrder(query.get("orderBy") ?? null, table, { ...fields, follow });
  const cursor = query.get("cursor") ?? "";
  return {
    filter: parseQueryFilter(query, resource),
    softDeleteFilter: softDeleteFilter(query, resource),
    view: viewOf(resource, query.get("select"), resolveInclude(query.get("include"), resource)),
    order,
    added,
    after: cursor === ""
      ? null
      : openCursor(cursor, { resource: resource.url, order, sealer: resource.sealer }),
    offset: 0,
  };
}

export const offsetParameter: ReadonlySet<string> = new Set(["offset"]);

/** The maximum of `offset`. For later rows, a client uses cursors, whose cost does not grow. */
const maxOffset = 10_000;

export function parseOffset(listQuery: ListQuery, query: Query, { table }: Resource): ListQuery {
  const text = query.get("offset");
  if (text === undefined) return listQuery;
  if (!/^[0-9]+$/.test(text)) {
    throw invalidParameter("Cannot use this offset: it must be a whole number from 0 on");
  }
  if (listQuery.after !== null) {
    throw invalidParameter("Cannot use offset and cursor together: a cursor is a position already");
  }
  const offset = Number(text);
  if (offset > maxOffset) {
    throw invalidParameter(
      `Cannot skip so many rows: offset must be ${maxOffset} at most. Continue by the nextCursor ` +
        "of a page, or filter by what its last row has",
    );
  }
  if (isCounted(listQuery.order)) {
    return { ...listQuery, after: { kind: "counted", ...countedPositionAt(offset) } };
  }
  // If rows can have equal sort values, a position also contains how many of these rows to skip.
  return table.distinct
    ? { ...listQuery, offset }
    : { ...listQuery, after: { kind: "reached", values: [], skip: offset } };
}

export type TotalCountMode = "none" | "exact" | "estimated";

export function parseTotalCount(query: Query): TotalCountMode {
  if (query.get("totalCount") === "estimated") return "estimated";
  return parseFlag(query, "totalCount", "true, false or estimated") ? "exact" : "none";
}

export function resourcesReadByList(
  { filter, view, added }: ListQuery,
): ReadonlySet<Resource> {
  if (view.include.length === 0 && added.length === 0) return filter.reached;
  return new Set([
    ...filter.reached,
    ...resourcesReadByIncludes(view.include),
    ...added.flatMap((one) => "target" in one ? one.target : []),
  ]);
}

export interface ListReadPlan {
  readonly read: ReadPlan;
  /** The row after which the list continues, if the cursor contains its key; else null. */
  readonly from: ContinuedRow | null;
  /** If sort values can change without a write: the page's start as a number of rows. Else null. */
  readonly counted: CountedPosition | null;
}

export function planList(
  listQuery: ListQuery,
  { grant, related }: Pick<AdditionalGrants, "related"> & { readonly grant: Grant },
  { table }: Resource,
  limit: number,
): ListReadPlan {
  const { filter, softDeleteFilter, order, after, added } = listQuery;
  const counted = rowsBeforePage(listQuery);
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
    ...(added.length === 0 ? {} : { added: planAdded(added, related) }),
  };
  const from = after?.kind === "row" ? { position: after, visible: grant.rows } : null;
  return { read, from, counted };
}

function rowsBeforePage(
  { order, after }: Pick<ListQuery, "order" | "after">,
): CountedPosition | null {
  if (!isCounted(order)) return null;
  return after?.kind === "counted" ? after : countedPositionAt(0);
}

function fromOf(listQuery: ListQuery, table: TableInfo): Pick<ReadPlan, "from"> {
  const counted = rowsBeforePage(listQuery);
  if (counted !== null) return { from: { values: [], skip: counted.rows - counted.compared } };
  return table.distinct ? {} : { from: offsetPosition(listQuery.after) };
}

export function offsetPosition(after: CursorPosition | null): OffsetPosition {
  return after?.kind === "reached" ? { values: after.values, skip: after.skip } : startPosition;
}

/** Includes the columns of the order, because cursors contain their values. */
function columnsFor({ view, order }: ListQuery, table: TableInfo): readonly ColumnInfo[] {
  const columns = columnsOf(view, table);
  const missing = order.map(({ column }) => column).filter((column) => !columns.includes(column));
  return missing.length === 0 ? columns : [...columns, ...missing];
}

export interface TotalCount {
  readonly totalCount: number;
  readonly totalCountEstimated?: true;
}

export type TotalCountPlan = ReturnType<typeof planTotalCount>;

/** Plans the count, and also an estimate if it is requested and would reveal no hidden rows. */
export function planTotalCount(
  where: Filter,
  mode: Exclude<TotalCountMode, "none">,
  grant: Grant,
  resource: Resource,
) {
  const { table, reader, identityOf } = resource;
  const mayEstimate = mode === "estimated" && reader.dialect.estimate !== null &&
    // With `actAs`, policies of the database hide rows, but an estimate would count them.
    identityOf === null &&
    // An estimate covers the whole table: it would reveal the number of rows that are hidden.
    grant.rows.kind === "all" && staysInTable(where);
  return {
    count: { kind: "count", table, where } as const,
    estimate: mayEstimate ? { kind: "estimate", table, where } as const : null,
  };
}

/** Smaller estimates are unusable: Postgres assumes up to 2,260 rows in an unanalysed table. */
const minEstimated = 2_500;

export async function fetchTotalCount(
  plan: TotalCountPlan,
  { read, found }: { readonly read: ReadPlan; readonly found: number },
  { connection, reader, roleRights }: {
    readonly connection: Connection;
    readonly reader: RowReader;
    readonly roleRights: RoleRights;
  },
): Promise<TotalCount> {
  if (isFirst(read) && read.limit !== null && found < read.limit) return { totalCount: found };
  const mayEstimate = plan.estimate !== null &&
    (await roleRights.of(plan.estimate.table))?.mayEstimate === true;
  const estimate = plan.estimate === null || !mayEstimate
    ? null
    : await fetchEstimate(connection, plan.estimate, reader);
  return estimate === null || estimate < minEstimated
    ? { totalCount: await fetchCount(connection, plan.count, reader) }
    : { totalCount: Math.max(estimate, found), totalCountEstimated: true };
}

function isFirst({ after, from, offset = 0 }: ReadPlan): boolean {
  return after === null && offset === 0 &&
    (from === undefined || from.values.length === 0 && from.skip === 0);
}

function staysInTable(filter: Filter): boolean {
  return filter.kind !== "related" && termsOnSameRow(filter).every(staysInTable);
}
