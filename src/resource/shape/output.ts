import type { AggregateGroup } from "../../db/aggregate_groups.ts";
import type { Metric, OrderKey } from "../../plan/plan.ts";
import type { Relation } from "../../schema/relation.ts";
import type { ColumnInfo, Row, TableInfo } from "../../schema/table_info.ts";
import type { ComputedFields, Resource, WrittenRows } from "../model/resource.ts";
import { safeOutput, safeValue } from "../../schema/safe_numbers.ts";
import { type GroupView, presentGroups } from "./present_groups.ts";
import { parseSelect, type Selectable, type Selection } from "./parse_select.ts";
import type { Grant } from "../../auth/authorize.ts";
import type { Filter } from "../../filter/filter.ts";
import { selectParts } from "../../filter/document_path.ts";
import { formatKey, keyId, keyOf } from "../../plan/key.ts";
import { jsonFits } from "../../schema/json_fits.ts";
import { type EtagPolicy, tagOf } from "../http/etag.ts";
import { responseTooLarge, writtenRowsPart } from "../http/response_byte_budget.ts";
import { cacheControl, type DataReply, jsonReply } from "../http/json_reply.ts";

/** The fields that the output shows: readable columns, computed fields and included relations. */
export interface View {
  readonly visible: readonly ColumnInfo[];
  readonly parts: Selection["parts"];
  readonly computed: ComputedFields;
  readonly include: readonly Include[];
  readonly safeNumbers: boolean;
}

export interface Include {
  readonly relation: Relation;
  readonly target: Resource;
  readonly filter: RelationFilter;
  readonly order: readonly OrderKey[];
  readonly limit: number;
  /** The metrics to output in place of the related rows. Empty if the output contains the rows. */
  readonly metrics: readonly Metric[];
  readonly view: View;
}

/** The loaded rows of one relation, which the output nests in the rows that they relate to. */
export interface Included {
  readonly relation: Relation;
  readonly view: View;
  /** The related rows. A row occurs once for each group that contains the row (see `places`). */
  readonly rows: readonly Row[];
  readonly read: readonly ColumnInfo[];
  /** For each row, the index of its group. Parent rows with equal keys share a group of rows. */
  readonly places: readonly number[];
  /** For each parent row, the index of its group: -1 for no rows, null to omit the JSON member. */
  readonly placeOf: readonly (number | null)[];
  readonly included: readonly Included[];
  /** The metrics that replace the rows, and their values for each group; null if rows are shown. */
  readonly aggregated: {
    readonly metrics: readonly Metric[];
    readonly groups: readonly AggregateGroup[];
    readonly readable: readonly ColumnInfo[];
  } | null;
}

const aggregatesMember = "_aggregates";

export const noneIncluded: readonly Included[] = Object.freeze([]);

export const noIncludes: readonly Include[] = Object.freeze([]);

export function viewOf(
  resource: Selectable,
  select?: string,
  include: readonly Include[] = noIncludes,
): View {
  const { fields: { readable }, computed, safeNumbers } = resource;
  const selection = select === undefined
    ? { visible: readable, parts: null }
    : parseSelect(select, resource, include);
  return { ...selection, computed, include, safeNumbers };
}

/** Returns the columns to read for a view, including those for computed fields and relations. */
export function columnsOf(
  { visible, computed, include }: View,
  { columns, primaryKey }: TableInfo,
): readonly ColumnInfo[] {
  if (computed.fields.length > 0) return [...new Set([...columns, ...visible])];
  const keys = include.flatMap(({ relation }) => relation.steps[0].own);
  const wanted = keys.length === 0 ? visible : [...new Set([...visible, ...keys])];
  return wanted.length === 0 ? primaryKey : wanted;
}

export function hasFunctionColumns({ visible }: View): boolean {
  return visible.some(({ rowFunction }) => rowFunction !== undefined);
}

/** Returns only visible fields. List, get and all writes use this function, so none can skip it. */
export function maskRows(
  rows: readonly Row[],
  read: readonly ColumnInfo[],
  view: View,
  included: readonly Included[] = noneIncluded,
): readonly Row[] {
  if (included.length === 0) {
    // If a list shows exactly the columns that were read, as most lists do, no copy is needed.
    return isShownAsRead(read, view) ? rows : rows.map((row) => present(row, view));
  }
  const shown = rows.map((row) => present(row, view));
  for (const one of included) presentIncluded(one, shown);
  return shown;
}

function isShownAsRead(
  read: readonly ColumnInfo[],
  { visible, parts, computed, safeNumbers }: View,
): boolean {
  if (safeNumbers || parts !== null || computed.fields.length > 0) return false;
  if (read.length !== visible.length) return false;
  return read === visible || read.every((column, index) => column === visible[index]);
}

function presentIncluded(one: Included, around: readonly Record<string, unknown>[]): void {
  const { relation: { name, toMany }, view, rows, read, places, placeOf, included } = one;
  if (one.aggregated !== null) return presentAggregated(one, one.aggregated, around);
  const groups = new Map<number, Row[]>();
  maskRows(rows, read, view, included).forEach((row, index) => {
    const place = places[index] ?? -1;
    const group = groups.get(place);
    if (group === undefined) groups.set(place, [row]);
    else group.push(row);
  });
  around.forEach((row, index) => {
    const place = placeOf[index] ?? null;
    if (place === null) return;
    const group = groups.get(place) ?? [];
    row[name] = toMany ? group : group[0] ?? null;
  });
}

function presentAggregated(
  { relation: { name }, view: { safeNumbers }, places, placeOf }: Included,
  { metrics, groups, readable }: NonNullable<Included["aggregated"]>,
  around: readonly Record<string, unknown>[],
): void {
  const withoutRows = {
    key: [],
    metrics: metrics.map((metric) => metric.name === "count" ? 0 : null),
  };
  const view: GroupView = { keys: null, metrics, readable, safeNumbers };
  const shown = presentGroups([...groups, withoutRows], view);
  const byPlace = new Map(places.map((place, index) => [place, shown[index]]));
  around.forEach((row, index) => {
    const values = byPlace.get(placeOf[index] ?? -1) ?? shown.at(-1);
    row[aggregatesMember] = { ...Object(row[aggregatesMember]), [name]: values };
  });
}

function present(
  row: Row,
  { visible, parts, computed, safeNumbers }: View,
): Record<string, unknown> {
  const shown: Record<string, unknown> = {};
  if (safeNumbers) {
    for (const column of visible) shown[column.name] = safeValue(row[column.name], column);
  } else {
    for (const { name } of visible) shown[name] = row[name];
  }
  for (const [{ name }, selected] of parts ?? []) {
    shown[name] = selectParts(shown[name], selected) ?? null;
  }
  for (const [name, compute] of computed.fields) {
    try {
      const value = untypedValue(compute(row) ?? null);
      shown[name] = safeNumbers ? safeOutput(value) : value;
    } catch (error) {
      computed.failed(name, error);
      shown[name] = null;
    }
  }
  return shown;
}

/** Returns the value of a computed field. Throws for a promise, which JSON would write as `{}`. */
function untypedValue(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (!("then" in value) || typeof value.then !== "function") return value;
  // Nothing awaits the promise. Its rejection must not be reported as unhandled.
  if (value instanceof Promise) value.catch(() => {});
  throw new TypeError("A computed field must not be a promise: its function is synchronous");
}

/** A user's filter that can test fields of related rows. It depends on the caller's grants. */
export interface RelationFilter {
  readonly reached: ReadonlySet<Resource>;
  /** The filter before it is restricted to readable related rows. Absent for an empty filter. */
  readonly unrestricted?: Filter;
  /** Returns the filter over readable related rows. Tests of other related rows match nothing. */
  restrictTo(related: ReadonlyMap<Resource, Grant>): Filter;
}

export function rowReply(
  status: number,
  row: Row,
  resource: Resource,
  { headers = {}, included, optimisticId = null }: {
    readonly headers?: Readonly<Record<string, string>>;
    readonly included?: readonly Included[];
    readonly optimisticId?: string | null;
  } = {},
): DataReply {
  const { stored, etag } = resource;
  const [shown] = maskRows([row], stored, viewOf(resource), included);
  const body = optimisticId === null ? shown : { ...shown, _optimisticId: optimisticId };
  return jsonReply(status, body, { ...headers, ...(etag === null ? {} : etagHeaders(row, etag)) });
}

/** `rows` must have all columns. The reply has no ETags, but the event ids chosen by the client. */
export function rowsReply(
  status: number,
  { rows, recorded }: WrittenRows,
  resource: Resource,
  included?: readonly Included[],
): DataReply {
  const { table, stored } = resource;
  const shown = maskRows(rows, stored, viewOf(resource), included);
  return jsonReply(status, {
    items: recorded.size === 0 ? shown : shown.map((item, index) => {
      const id = recorded.get(keyId(keyOf(rows[index] ?? {}, table), table));
      return id === undefined ? item : { ...item, _optimisticId: id };
    }),
  });
}

/** Throws a 422 if the response would be too large. Must run before the transaction commits. */
export function requireFittingReply(
  rows: readonly Row[],
  resource: Resource,
  included?: readonly Included[],
): void {
  const { stored: columns, readCosts: { maxAnswerBytes } } = resource;
  // Computed fields are omitted here, because their functions must run only once for a response.
  const view = { ...viewOf(resource), computed: { ...resource.computed, fields: [] } };
  const shown = maskRows(rows, columns, view, included);
  if (!jsonFits(shown, maxAnswerBytes)) throw responseTooLarge(maxAnswerBytes, writtenRowsPart);
}

export function etagHeaders(row: Row, etag: EtagPolicy): Readonly<Record<string, string>> {
  const tag = { etag: tagOf(row, etag) };
  // A strong ETag promises identical bytes, so proxies must not recompress the response.
  return etag.algorithm === "weak"
    ? tag
    : { ...tag, "cache-control": `${cacheControl}, no-transform` };
}

/** Returns the `Location` header of a new row, unless its key is hidden or too long for proxies. */
export function locationOf(
  row: Row,
  { table, url, fields }: Resource,
): Readonly<Record<string, string>> {
  if (!table.primaryKey.every((column) => fields.readable.includes(column))) return {};
  const segment = formatKey(keyOf(row, table), table.primaryKey);
  return segment.length > maxSegmentLength ? {} : { location: `${url}/${segment}` };
}

/** Half of the 4 kB that nginx permits for all headers of a response. */
const maxSegmentLength = 2_000;
