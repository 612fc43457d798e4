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
  type AnswerBytes,
  answerTooLarge,
  includedRows,
  namingPart,
  shownBytes,
} from "../http/answer_bytes.ts";
import { readableLinks } from "../rights/related_grants.ts";
import { columnsOf, type Include, type Included } from "../shape/output.ts";
import type { Resource } from "../model/resource.ts";

/**
 * The most included rows that are loaded for one answer, whatever the limits of its relations. A
 * row that is included by several others counts each time: some thousand rows that all refer to one
 * another are an answer of millions.
 */
export const maxIncludedRows = 10_000;

/** What included rows are read by, and counted in. */
export interface IncludedReads {
  readonly connection: Connection;
  /** Null for streams, which are no answers. */
  readonly bytes: AnswerBytes | null;
}

/**
 * Loads the rows that other rows include: one statement for each relation, whatever the number of
 * rows. The rows hold the columns that {@link columnsOf} names. Nothing of a resource without a
 * grant in `related` is loaded. Throws a 422 for too many rows, or too many `bytes`; null is for
 * streams, which are no answers.
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

/** Rows to load includes for, and how often each appears in the answer. */
interface Around {
  readonly rows: readonly Row[];
  readonly times: readonly number[];
  /** The path of the include that they belong to; empty for the rows of the page. */
  readonly path: string;
}

/**
 * Loads the included rows of one row of a stream, which {@link requireSubscribableIncludes} has
 * limited.
 */
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

/**
 * Requires that a stream can load what one row includes: it cannot request a smaller page, and must
 * not end then. Throws a 422 for includes whose limits allow too many rows.
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

/** Two levels of lists fit with the default limits, three do not. */
const maxIncludedPerRow = 10 * maxIncludedRows;

function maxRowsUnder(includes: readonly Include[]): number {
  return includes.reduce(
    (sum, { limit, view }) => sum + limit * (1 + maxRowsUnder(view.include)),
    0,
  );
}

/** Which included rows of a relation a user may load: of its target, and of its link table. */
export type RelatedRight = Pick<RelatedPlan, "where" | "links">;

interface Loading {
  readonly related: ReadonlyMap<Resource, Grant>;
  readonly connection: Connection;
  /** How many rows the answer may still take. */
  left: number;
  readonly bytes: AnswerBytes | null;
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
  const right = relatedRight(include, loading.related);
  const { stored, ...found } = right === null || keys.length === 0
    ? nothing
    : await fetchPart(planFor(include, keys, read, right, loading), path, target, loading);
  const timesOfKey = sumByPlace(times, placeOf, keys.length);
  const timesFound = found.places.map((place) => timesOfKey[place] ?? 0);
  for (const shown of timesFound) loading.left -= shown;
  if (loading.left < 0) throw tooMuch();
  if (loading.bytes !== null) {
    countBytes(stored, timesFound, shownBytes(read, view.visible), loading.bytes, path);
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
    throw bytes === null ? error : namingPart(error, bytes.limit, includedRows(path));
  }
}

/**
 * Each key once: a hundred tracks of one album look the album up once. Keys are only compared for
 * identity here; the database compares them with rows.
 */
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

/** Counts included rows, before any of them is nested in one that includes it. */
function countBytes(
  rows: RelatedRows["stored"],
  times: readonly number[],
  bytesOf: (row: readonly SqlValue[]) => number,
  bytes: AnswerBytes,
  path: string,
): void {
  rows.forEach((row, index) => {
    bytes.left -= bytesOf(row) * (times[index] ?? 0);
  });
  if (bytes.left < 0) throw answerTooLarge(bytes.limit, includedRows(path));
}

/** How often the rows at each place appear in the answer. */
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
  right: RelatedRight,
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
    // One more row shows that there are too many.
    most: left + 1,
    // The lookup needs a key without NULL, which introspected tables may allow.
    byIndex: isIndexed && target.table.primaryKey.length > 0 &&
      target.table.primaryKey.every(({ notNull }) => notNull),
    isUnindexed: !isIndexed,
  };
}

/**
 * The included rows of a relation that `related` lets a user load; null if there can be none.
 */
export function relatedRight(
  { relation, target, filter }: Include,
  related: ReadonlyMap<Resource, Grant>,
): RelatedRight | null {
  const grant = related.get(target);
  const links = readableLinks(relation, target, related);
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
