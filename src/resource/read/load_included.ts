import type { Grant } from "../../auth/authorize.ts";
import type { Connection } from "../../db/driver.ts";
import { fetchRelated, type RelatedRows } from "../../db/rows.ts";
import { and } from "../../filter/filter.ts";
import type { RelatedPlan } from "../../plan/plan.ts";
import { Problem } from "../../problem/problem.ts";
import type { ColumnInfo, Row } from "../../schema/table_info.ts";
import { readableLinks } from "./related_grants.ts";
import { columnsOf, type Include, type Included } from "../output.ts";
import type { Resource } from "../define/resource.ts";

/**
 * The most included rows of one answer, whatever their limits say. One that stands in several
 * others counts each time: some thousand rows that all lead to one another are an answer of
 * millions.
 */
export const maxIncludedRows = 10_000;

/**
 * What the rows include: one statement for each relation, whatever the number of rows. The rows
 * hold the columns that {@link columnsOf} names. Of a resource without a right among `related`
 * nothing is loaded. Throws a 422 when it would be too much.
 */
export function loadIncluded(
  rows: readonly Row[],
  includes: readonly Include[],
  related: ReadonlyMap<Resource, Grant>,
  connection: Connection,
): Promise<readonly Included[]> {
  const once = rows.map(() => 1);
  return loadAll({ rows, times: once }, includes, {
    related,
    connection,
    left: maxIncludedRows,
  });
}

/** Rows to load others for, and how often each of them stands in the answer. */
interface Around {
  readonly rows: readonly Row[];
  readonly times: readonly number[];
}

/** The same for one row of a stream: {@link requireSubscribableIncludes} has seen that it is not too much. */
export function loadIncludedOfOne(
  row: Row,
  includes: readonly Include[],
  related: ReadonlyMap<Resource, Grant>,
  connection: Connection,
): Promise<readonly Included[]> {
  return loadAll({ rows: [row], times: [1] }, includes, {
    related,
    connection,
    left: maxIncludedPerRow,
  });
}

/**
 * A stream has no smaller page to ask for when a row alone includes too much, and must not end when
 * it comes to that. Throws a 422 for what may include too much by its limits.
 */
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

/** Lists in lists fit without limits of their own, lists in those do not. */
const maxIncludedPerRow = 10 * maxIncludedRows;

function maxRowsUnder(includes: readonly Include[]): number {
  return includes.reduce(
    (sum, { limit, view }) => sum + limit * (1 + maxRowsUnder(view.include)),
    0,
  );
}

/** Which rows of a relation a caller sees: of its target, and of its link table. */
export type RelatedRight = Pick<RelatedPlan, "where" | "links">;

interface Loading {
  readonly related: ReadonlyMap<Resource, Grant>;
  readonly connection: Connection;
  /** How many rows the answer may still take. */
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
  { rows, times }: Around,
  include: Include,
  loading: Loading,
): Promise<Included> {
  const { relation, target, view } = include;
  const { keys, placeOf } = distinctKeys(rows, relation.steps[0].own);
  const read = columnsOf(view, target.table);
  const right = relatedRight(include, loading.related);
  const found = right === null || keys.length === 0 ? nothing : await fetchRelated(
    loading.connection,
    planFor(include, keys, read, right, loading),
    target.reader,
  );
  const timesOfKey = sumByPlace(times, placeOf, keys.length);
  const timesFound = found.places.map((place) => timesOfKey[place] ?? 0);
  for (const shown of timesFound) loading.left -= shown;
  if (loading.left < 0) throw tooMuch();
  const inner = { rows: found.rows, times: timesFound };
  const included = await loadAll(inner, view.include, loading);
  return { relation, view, read, placeOf, ...found, included };
}

const nothing: RelatedRows = Object.freeze({ rows: [], places: [] });

/**
 * Each key once: a hundred tracks of one album ask for it once. Keys are only told apart here;
 * which rows they lead to the database says.
 */
function distinctKeys(
  rows: readonly Row[],
  { name }: ColumnInfo,
): { readonly keys: readonly unknown[]; readonly placeOf: readonly number[] } {
  const places = new Map<unknown, number>();
  const placeOf = rows.map((row) => {
    const key = row[name] ?? null;
    if (key === null) return -1;
    const place = places.get(key) ?? places.size;
    places.set(key, place);
    return place;
  });
  return { keys: [...places.keys()], placeOf };
}

/** How often the rows of each place are shown. */
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
  keys: readonly unknown[],
  columns: readonly ColumnInfo[],
  right: RelatedRight,
  { left }: Loading,
): RelatedPlan {
  return {
    kind: "related",
    relation,
    keys,
    columns,
    ...right,
    order,
    limit,
    // One more tells that it would be too much.
    most: left + 1,
    // A sought row is found by its key, which only foreign tables leave NULL.
    byIndex: target.isIndexed(relation.steps[0].other) &&
      target.table.primaryKey.every(({ notNull }) => notNull),
  };
}

/** What is shown of a relation to a caller: null where nothing can be. */
export function relatedRight(
  { relation, target, filter }: Include,
  related: ReadonlyMap<Resource, Grant>,
): RelatedRight | null {
  const grant = related.get(target);
  const links = readableLinks(relation, target, related);
  if (grant === undefined || links.kind === "none") return null;
  return { where: and(grant.rows, target.live, filter.restrictTo(related)), links };
}

function tooMuch(): Problem {
  return new Problem(
    "query-too-expensive",
    `Cannot include so many rows: more than ${maxIncludedRows} belong to this answer. Ask for a ` +
      "smaller page, give the relations a limit, or include fewer",
    { details: { limit: maxIncludedRows } },
  );
}
