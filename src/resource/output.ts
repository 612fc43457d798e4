import type { AggregateGroup } from "../db/aggregate_groups.ts";
import type { GroupKey, Metric } from "../plan/plan.ts";
import type { Relation } from "../schema/relation.ts";
import type { ColumnInfo, Row, TableInfo } from "../schema/table_info.ts";
import type { Include } from "./read/resolve_include.ts";
import type { Resource } from "./define/resource.ts";

/** The virtual fields of a resource. */
export interface Computed {
  readonly fields: readonly (readonly [name: string, compute: (row: Row) => unknown])[];
  /** Told of a function that threw: its field is null. */
  failed(field: string, error: unknown): void;
}

/** What an answer shows of its rows. */
export interface View {
  /** Taken from the readable columns by `parseSelect`. */
  readonly visible: readonly ColumnInfo[];
  readonly computed: Computed;
  /** The relations that were asked for, whose rows stand beside the columns. */
  readonly include: readonly Include[];
}

/** What an answer shows of groups, in the order in which they were read. */
export interface GroupView {
  readonly keys: readonly GroupKey[];
  /** The first of those that were computed: the others only served to choose and to sort. */
  readonly metrics: readonly Metric[];
  /** The columns that may be seen. */
  readonly readable: readonly ColumnInfo[];
}

/** The related rows that stand in some rows under the name of one relation. */
export interface Included {
  readonly relation: Relation;
  readonly view: View;
  /** All of them, each once for every place that it stands at. */
  readonly rows: readonly Row[];
  /** The columns that they were read with. */
  readonly read: readonly ColumnInfo[];
  /** For each of them its place. Rows of one relation that have the same key share one. */
  readonly places: readonly number[];
  /**
   * For each row around them the place of those that stand in it; -1 where none can, and null where
   * the name of the relation shall not stand in it at all.
   */
  readonly placeOf: readonly (number | null)[];
  /** What stands in them in turn. */
  readonly included: readonly Included[];
}

/** For rows that come alone. */
export const noneIncluded: readonly Included[] = Object.freeze([]);

/** For rows that come alone. */
export const noIncludes: readonly Include[] = Object.freeze([]);

/** The readable fields that `select` names, all of them without one, and the computed ones. */
export function viewOf(
  { fields, computed }: Pick<Resource, "fields" | "computed">,
  select?: string,
  include: readonly Include[] = noIncludes,
): View {
  return { visible: parseSelect(select, fields.readable), computed, include };
}

/**
 * `select=a,b` → those of the readable columns that it names, in the table's order. Hidden and
 * unknown names are alike silently absent; no `select` is every readable column.
 */
function parseSelect(
  text: string | undefined,
  readable: readonly ColumnInfo[],
): readonly ColumnInfo[] {
  if (text === undefined) return readable;
  const names = new Set(text.split(",").map((name) => name.trim()));
  return readable.filter((column) => names.has(column.name));
}

/**
 * The columns to read for a view: virtual fields are made from the whole row, and related rows are
 * found by columns that need not be shown. A select that names nothing still has to read something.
 */
export function columnsOf(
  { visible, computed, include }: View,
  { columns, primaryKey }: TableInfo,
): readonly ColumnInfo[] {
  if (computed.fields.length > 0) return columns;
  const keys = include.map(({ relation }) => relation.steps[0].own);
  const wanted = keys.length === 0 ? visible : [...new Set([...visible, ...keys])];
  return wanted.length === 0 ? primaryKey : wanted;
}

/**
 * The only door for rows: list, get and writes all answer through it, so that masking cannot be
 * forgotten. Rows that were read with the columns `read` come out with exactly the visible ones,
 * the virtual fields and what was included with them.
 */
export function presentRows(
  rows: readonly Row[],
  read: readonly ColumnInfo[],
  view: View,
  included: readonly Included[] = noneIncluded,
): readonly Row[] {
  if (included.length === 0) {
    // Most lists show what they read: then there is nothing to take away and nothing to add.
    return isShownAsRead(read, view) ? rows : rows.map((row) => present(row, view));
  }
  const shown = rows.map((row) => present(row, view));
  for (const one of included) presentIncluded(one, shown);
  return shown;
}

/**
 * The only door for groups, whose keys and metrics are made of the values of rows. Nothing but
 * readable columns is asked for in the first place; a column that came so far all the same would
 * end the request.
 */
export function presentGroups(
  groups: readonly AggregateGroup[],
  { keys, metrics, readable }: GroupView,
): readonly Row[] {
  const columns = [
    ...keys.map(({ column }) => column),
    ...metrics.flatMap((metric) => metric.name === "count" ? [] : metric.column),
  ];
  for (const column of columns) {
    if (!readable.includes(column)) throw new Error(`Cannot show groups of "${column.name}"`);
  }
  const names = new Set(metrics.map(({ name }) => name));
  return groups.map((group) => {
    const key = keys.length === 0
      ? null
      : Object.fromEntries(keys.map(({ column }, index) => [column.name, group.key[index]]));
    const shown = [...names].map((name) => [name, presentMetric(name, group, metrics)]);
    return { key, ...Object.fromEntries(shown) };
  });
}

/** `count` is a number, every other metric an object by column. */
function presentMetric(
  name: Metric["name"],
  group: AggregateGroup,
  metrics: readonly Metric[],
): unknown {
  const values: [string, unknown][] = [];
  for (const [index, metric] of metrics.entries()) {
    if (metric.name !== name) continue;
    if (metric.name === "count") return group.metrics[index];
    values.push([metric.column.name, group.metrics[index]]);
  }
  return Object.fromEntries(values);
}

function isShownAsRead(read: readonly ColumnInfo[], { visible, computed }: View): boolean {
  if (computed.fields.length > 0) return false;
  if (read.length !== visible.length) return false;
  return read === visible || read.every((column, index) => column === visible[index]);
}

/** Puts related rows into the rows around them, which are shown already. */
function presentIncluded(
  { relation: { name, toMany }, view, rows, read, places, placeOf, included }: Included,
  around: readonly Record<string, unknown>[],
): void {
  const groups = new Map<number, Row[]>();
  presentRows(rows, read, view, included).forEach((row, index) => {
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

function present(row: Row, { visible, computed }: View): Record<string, unknown> {
  const shown: Record<string, unknown> = {};
  for (const { name } of visible) shown[name] = row[name];
  for (const [name, compute] of computed.fields) {
    try {
      shown[name] = compute(row) ?? null;
    } catch (error) {
      computed.failed(name, error);
      shown[name] = null;
    }
  }
  return shown;
}
