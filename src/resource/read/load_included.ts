import type { Grant } from "../../auth/authorize.ts";
import type { Connection } from "../../db/driver.ts";
import { fetchRelated, type RelatedRows } from "../../db/rows.ts";
import { and } from "../../filter/filter.ts";
import type { RelatedKey, RelatedPlan } from "../../plan/plan.ts";
import { relatedKeyId, relatedKeyOf } from "../../plan/related_key.ts";
import { Problem } from "../../problem/problem.ts";
import type { ColumnInfo, Row } from "../../schema/table_info.ts";
import type { SqlValue } from "../../sql/fragment.ts";
import {
  asResponseTooLarge,
  createRowByteCounter,
  includedRowsPart,
  type ResponseByteBudget,
  responseTooLarge,
} from "../http/response_byte_budget.ts";
import { readableLinksFilter } from "../rights/related_grants.ts";
import { columnsOf, type Include, type Included } from "../shape/output.ts";
import type { Resource } from "../model/resource.ts";

/**
 * The maximum number of included rows in one response, whatever the limits of its relations. A row
 * counts each time that it is included. Otherwise a few thousand rows that refer to one another
 * could become a response with millions of rows.
 */
export const maxIncludedRows = 10_000;

/** The grants, the connection and the byte limit with which included rows are read. */
export interface IncludedReads {
  readonly connection: Connection;
  /** Counts the bytes of the response. Null for streams, whose bytes are not limited. */
  readonly bytes: ResponseByteBudget | null;
}

/**
 * Loads the rows that other rows include, with one statement for each relation. The loaded rows
 * have the columns that {@link columnsOf} returns. Rows of a resource without a grant in `related`
 * are not loaded. Throws a 422 for too many rows, or too many `bytes`.
 */
export function loadIncluded(
  rows: readonly Row[],
  includes: readonly Include[],
  related: ReadonlyMap<Resource, Grant>,
  { connection, bytes }: IncludedReads,
): Promise<readonly Included[]> {
  const once = rows.map(() => 1);
  return loadAll({ rows, times: once, path: "" }, includes, {
    related,
    connection,
    left: maxIncludedRows,
    bytes,
  });
}

/** Rows whose related rows are loaded, and how often each row appears in the response. */
interface Around {
  readonly rows: readonly Row[];
  readonly times: readonly number[];
  /** The path of the include that the rows belong to, or `""` for the rows of the page. */
  readonly path: string;
}

/** Loads the included rows of one row. {@link requireSubscribableIncludes} limits their number. */
export function loadIncludedOfOne(
  row: Row,
  includes: readonly Include[],
  related: ReadonlyMap<Resource, Grant>,
  connection: Connection,
): Promise<readonly Included[]> {
  return loadAll({ rows: [row], times: [1], path: "" }, includes, {
    related,
    connection,
    left: maxIncludedPerRow,
    bytes: null,
  });
}

/** Throws a 422 if one row can include too many rows, because a stream cannot load less of it. */
export function requireSubscribableIncludes(includes: readonly Include[]): void {
  const most = maxRowsUnder(includes);
  if (most <= maxIncludedPerRow) return;
  throw new Problem(
    "query-too-expensive",
    `Cannot follow so many rows: one row may include ${most}, and ${maxIncludedPerRow} are the most. ` +
      "Give the relations a limit, or include fewer",
    { details: { limit: maxIncludedPerRow } },
  );
}

/** The maximum of included rows for one row. Two nested lists with default limits are allowed. */
const maxIncludedPerRow = 10 * maxIncludedRows;

function maxRowsUnder(includes: readonly Include[]): number {
  return includes.reduce(
    (sum, { limit, view }) => sum + limit * (1 + maxRowsUnder(view.include)),
    0,
  );
}

/** The filters that limit the included rows: for a relation's target, and for its link table. */
export type RelatedRowFilters = Pick<RelatedPlan, "where" | "links">;

interface Loading extends IncludedReads {
  readonly related: ReadonlyMap<Resource, Grant>;
  /** The number of rows that the response can still include. */
  left: number;
}

async function loadAll(
  around: Around,
  includes: readonly Include[],
  loading: Loading,
): Promise<readonly Included[]> {
  const loaded: Included[] = [];
  for (const include of includes) loaded.push(await loadOne(around, include, loading));
  return loaded;
}

async function loadOne(
  { rows, times, path: around }: Around,
  include: Include,
  loading: Loading,
): Promise<Included> {
  const { relation, target, view } = include;
  const path = around === "" ? relation.name : `${around}.${relation.name}`;
  const { keys, placeOf } = distinctKeys(rows, relation.steps[0].own);
  const read = columnsOf(view, target.table);
  const right = relatedRowFilters(include, loading.related);
  const { stored, ...found } = right === null || keys.length === 0
    ? nothing
    : await fetchPart(planFor(include, keys, read, right, loading), path, target, loading);
  const timesOfKey = sumByPlace(times, placeOf, keys.length);
  const timesFound = found.places.map((place) => timesOfKey[place] ?? 0);
  for (const shown of timesFound) loading.left -= shown;
  if (loading.left < 0) throw tooMuch();
  if (loading.bytes !== null) {
    countBytes(stored, timesFound, createRowByteCounter(read, view.visible), loading.bytes, path);
  }
  const inner = { rows: found.rows, times: timesFound, path };
  const included = await loadAll(inner, view.include, loading);
  return { relation, view, read, placeOf, ...found, included };
}

const nothing: RelatedRows = Object.freeze({ rows: [], places: [], stored: [] });

async function fetchPart(
  plan: RelatedPlan,
  path: string,
  { reader }: Resource,
  { connection, bytes }: Loading,
): Promise<RelatedRows> {
  try {
    return await fetchRelated(connection, plan, reader);
  } catch (error) {
    throw bytes === null ? error : asResponseTooLarge(error, bytes.limit, includedRowsPart(path));
  }
}

/** Returns each key once, so that a hundred tracks of one album need one lookup of the album. */
function distinctKeys(
  rows: readonly Row[],
  columns: readonly ColumnInfo[],
): { readonly keys: readonly RelatedKey[]; readonly placeOf: readonly number[] } {
  const places = new Map<unknown, number>();
  const keys: RelatedKey[] = [];
  const placeOf = rows.map((row) => {
    const key = relatedKeyOf(row, columns);
    if (key === null) return -1;
    const id = relatedKeyId(key);
    const known = places.get(id);
    if (known !== undefined) return known;
    places.set(id, keys.length);
    return keys.push(key) - 1;
  });
  return { keys, placeOf };
}

/** Subtracts the size of included rows, once for each row that includes them. */
function countBytes(
  rows: RelatedRows["stored"],
  times: readonly number[],
  bytesOf: (row: readonly SqlValue[]) => number,
  bytes: ResponseByteBudget,
  path: string,
): void {
  rows.forEach((row, index) => {
    bytes.left -= bytesOf(row) * (times[index] ?? 0);
  });
  if (bytes.left < 0) throw responseTooLarge(bytes.limit, includedRowsPart(path));
}

/** Returns how often the rows included by each key appear in the response. */
function sumByPlace(
  times: readonly number[],
  placeOf: readonly number[],
  places: number,
): readonly number[] {
  const sums = new Array<number>(places).fill(0);
  placeOf.forEach((place, index) => {
    if (place >= 0) sums[place] = (sums[place] ?? 0) + (times[index] ?? 0);
  });
  return sums;
}

function planFor(
  { relation, target, order, limit }: Include,
  keys: readonly RelatedKey[],
  columns: readonly ColumnInfo[],
  right: RelatedRowFilters,
  { left }: Loading,
): RelatedPlan {
  const isIndexed = relation.steps[0].other.some(target.isIndexed);
  return {
    kind: "related",
    relation,
    keys,
    columns,
    ...right,
    order,
    limit,
    // One additional row shows if there are too many rows.
    most: left + 1,
    // A lookup by index needs a key without NULL. Introspected tables can have NULL in keys.
    byIndex: isIndexed && target.table.primaryKey.length > 0 &&
      target.table.primaryKey.every(({ notNull }) => notNull),
    isUnindexed: !isIndexed,
  };
}

/** Returns the filters for the included rows of a relation; null if `related` grants no rows. */
export function relatedRowFilters(
  { relation, target, filter }: Include,
  related: ReadonlyMap<Resource, Grant>,
): RelatedRowFilters | null {
  const grant = related.get(target);
  const links = readableLinksFilter(relation, target, related);
  if (grant === undefined || links.kind === "none") return null;
  return { where: and(grant.rows, target.undeleted, filter.restrictTo(related)), links };
}

function tooMuch(): Problem {
  return new Problem(
    "query-too-expensive",
    `Cannot include so many rows: more than ${maxIncludedRows} belong to this answer. Request a ` +
      "smaller page, give the relations a limit, or include fewer",
    { details: { limit: maxIncludedRows } },
  );
}
