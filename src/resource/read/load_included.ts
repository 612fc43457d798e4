import type { Grant } from "../../auth/authorize.ts";
import type { Connection } from "../../db/driver.ts";
import { type AggregateGroup, fetchGroups } from "../../db/aggregate_groups.ts";
import { fetchRelated } from "../../db/rows.ts";
import { allRows, and } from "../../filter/filter.ts";
import { ordinalKey } from "../../plan/aggregate_columns.ts";
import type { RelatedKey, RelatedPlan } from "../../plan/plan.ts";
import { relatedKeyId, relatedKeyOf } from "../../plan/related_key.ts";
import { Problem } from "../../problem/problem.ts";
import type { ColumnInfo, Row } from "../../schema/table_info.ts";
import {
  asResponseTooLarge,
  createRowByteCounter,
  estimateGroupBytes,
  includedRowsPart,
  type ResponseByteBudget,
  responseTooLarge,
} from "../http/response_byte_budget.ts";
import { readableLinksFilter } from "../rights/related_grants.ts";
import { columnsOf, type Include, type Included } from "../shape/output.ts";
import type { Resource } from "../model/resource.ts";

/** The maximum number of included rows in a response. A row counts for each time it is included. */
export const maxIncludedRows = 10_000;

export interface IncludedReads {
  readonly connection: Connection;
  /** Counts the bytes of the response. Null for streams, whose bytes are not limited. */
  readonly bytes: ResponseByteBudget | null;
  readonly most?: number;
}

/** Omits related rows that `related` does not grant. Throws a 422 for too many rows or bytes. */
export function loadIncluded(
  rows: readonly Row[],
  includes: readonly Include[],
  related: ReadonlyMap<Resource, Grant>,
  reads: IncludedReads,
): Promise<readonly Included[]> {
  const { most: left = maxIncludedRows } = reads;
  const around = { rows, times: rows.map(() => 1), path: "" };
  return loadAll(around, includes, { ...reads, related, left });
}

interface Around {
  readonly rows: readonly Row[];
  readonly times: readonly number[];
  readonly path: string;
}

/** Throws a 422 for a stream in which one row can include more rows than a stream can load. */
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

/** The maximum number of rows that one row of a stream can include. Enough for two nested lists. */
export const maxIncludedPerRow = 10 * maxIncludedRows;

function maxRowsUnder(includes: readonly Include[]): number {
  return includes.reduce(
    (sum, { limit, view }) => sum + limit * (1 + maxRowsUnder(view.include)),
    0,
  );
}

interface Loading extends IncludedReads {
  readonly related: ReadonlyMap<Resource, Grant>;
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
  const { relation, target, view, metrics } = include;
  const { bytes } = loading;
  const path = around === "" ? relation.name : `${around}.${relation.name}`;
  const { keys, placeOf } = distinctKeys(rows, relation.steps[0].own);
  const read = columnsOf(view, target.table);
  const right = relatedRowFilters(include, loading.related);
  const nothing: Found = { rows: [], places: [], sizeOf: () => 0 };
  const { sizeOf, ...found } = right === null || keys.length === 0
    ? nothing
    : await fetchIncluded(include, { keys, columns: read, ...right }, loading).catch((error) => {
      throw bytes === null ? error : asResponseTooLarge(error, bytes.limit, includedRowsPart(path));
    });
  const timesOfKey = sumByPlace(times, placeOf, keys.length);
  const timesFound = found.places.map((place) => timesOfKey[place] ?? 0);
  // If metrics replace the rows, the metrics of each row count as one included row.
  for (const shown of metrics.length > 0 ? times : timesFound) loading.left -= shown;
  if (loading.left < 0) throw tooMuch();
  if (bytes !== null) {
    for (const [index, shown] of timesFound.entries()) bytes.left -= sizeOf(index) * shown;
    if (bytes.left < 0) throw responseTooLarge(bytes.limit, includedRowsPart(path));
  }
  const inner = { rows: found.rows, times: timesFound, path };
  const included = await loadAll(inner, view.include, loading);
  const readable = target.fields.selectable;
  const aggregated = metrics.length > 0 ? { metrics, groups: found.groups ?? [], readable } : null;
  return { relation, view, read, placeOf, ...found, included, aggregated };
}

interface Found extends Pick<Included, "rows" | "places"> {
  /** The metrics of each group of related rows, if the response has metrics instead of rows. */
  readonly groups?: readonly AggregateGroup[];
  /** Returns the size of a row or a group in the response, in bytes. */
  sizeOf(index: number): number;
}

async function fetchIncluded(
  { relation, target, order, limit, metrics, view }: Include,
  { columns, where, ...related }: Pick<RelatedPlan, "keys" | "columns" | "where" | "links">,
  { connection, left }: Loading,
): Promise<Found> {
  const { table, reader, isIndexed } = target;
  const isUnindexed = !relation.steps[0].other.some(isIndexed);
  if (metrics.length > 0) {
    const groups = await fetchGroups(connection, {
      ...{ kind: "aggregate", table, where, keys: [ordinalKey], metrics, having: allRows },
      ...{ order: [], limit: related.keys.length },
      relatedTo: { relation, isUnindexed, ...related },
    }, reader);
    const places = groups.map(({ key: [place] }) => Number(place));
    const sizeOf = (index: number) => estimateGroupBytes(groups.slice(index, index + 1));
    return { rows: [], places, groups, sizeOf };
  }
  const { stored, ...found } = await fetchRelated(connection, {
    ...{ kind: "related", relation, isUnindexed, ...related, columns, where, order, limit },
    most: left + 1,
    // A lookup by index needs a key without NULL. Introspected tables can have NULL in keys.
    byIndex: !isUnindexed && table.primaryKey.length > 0 &&
      table.primaryKey.every(({ notNull }) => notNull),
  }, reader);
  const bytesOf = createRowByteCounter(columns, view.visible);
  return { ...found, sizeOf: (index) => bytesOf(stored[index] ?? []) };
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

export function relatedRowFilters(
  { relation, target, filter }: Include,
  related: ReadonlyMap<Resource, Grant>,
): Pick<RelatedPlan, "where" | "links"> | null {
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
