import { type AggregateGroup, exactMetricValue, groupValue } from "../../db/aggregate_groups.ts";
import { columnValue, storedForm } from "../../filter/match/row_matches.ts";
import { type AggregateColumns, averageDigits } from "../../plan/aggregate_columns.ts";
import type { AggregatePlan, ColumnMetric, GroupKey, Metric, OrderKey } from "../../plan/plan.ts";
import { unreachable } from "../../problem/unreachable.ts";
import { fitsKind } from "../../schema/kinds/fits_kind.ts";
import type { ColumnInfo, Row } from "../../schema/table_info.ts";
import {
  addExactDecimals,
  divideExactDecimal,
  type ExactDecimal,
  parseExactDecimal,
  printExactDecimal,
} from "../../sql/exact_decimal.ts";
import { kindProperties } from "../../schema/kinds/kind_properties.ts";
import { allRows } from "../../filter/filter.ts";
import { kinds } from "../../schema/kind_of.ts";
import type { Dialect } from "../../sql/dialect.ts";
import { relatedTables } from "../match/may_affect_filter.ts";

export interface MaintenancePlan {
  readonly requested: AggregatePlan;
  /** The query for the initial state of every group: key, row count, sums, minima and maxima. */
  readonly base: AggregatePlan;
  readonly summed: readonly ColumnInfo[];
  readonly extremes: readonly Extreme[];
  /** True if groups stay in the database's order, because JavaScript cannot compare their keys. */
  readonly isRanked: boolean;
}

export interface Extreme {
  readonly metric: ColumnMetric;
  /** Returns a positive number if `left` is more extreme than `right`, and 0 if both are equal. */
  compare(left: unknown, right: unknown): number;
}

export function maintenancePlan(
  requested: AggregatePlan,
  groups: AggregateColumns,
  { dialect, maxGroups }: { readonly dialect: Dialect; readonly maxGroups: number },
): MaintenancePlan | null {
  const { keys, metrics, where, order } = requested;
  // If a related row that the filter reads has changed, only the database knows which rows match.
  if (relatedTables(where).size > 0) return null;
  const isWholly = (column: ColumnInfo) => dialect.comparesAsMemory(column) === "wholly";
  if (keys.some(({ column }) => dialect.comparesAsMemory(column) === "never")) return null;
  const isRanked = !keys.every(({ column }) => isWholly(column));
  if (isRanked && !endsInKeys(order, keys)) return null;
  const ofColumns = metrics.filter((metric) => metric.name !== "count");
  if (ofColumns.some(({ column }) => !isWholly(column))) return null;
  const summed = new Set<ColumnInfo>();
  const extremes: Extreme[] = [];
  for (const metric of ofColumns) {
    if (metric.name === "min" || metric.name === "max") extremes.push(extreme(metric));
    // A sum of doubles depends on the order of addition: the database's sum could be different.
    else if (kindProperties[metric.column.kind].arithmetic === "double") return null;
    else summed.add(metric.column);
  }
  const totals = [...summed].flatMap((column, index): Metric[] => {
    const sum = groups.metrics.get(`sum_${column.name}`);
    const values = { ...groups.count.as, dbName: `values${index}` };
    return sum === undefined ? [] : [sum, { name: "count", column, as: values }];
  });
  const all = [groups.count, ...totals, ...extremes.map(({ metric }) => metric)];
  return {
    requested,
    base: {
      ...requested,
      metrics: all,
      having: allRows,
      order: keys.map(({ as }): OrderKey => ({ column: as, descending: false })),
      limit: maxGroups + 1,
    },
    summed: [...summed],
    extremes,
    isRanked,
  };
}

function endsInKeys(order: readonly OrderKey[], keys: readonly GroupKey[]): boolean {
  const start = order.findIndex(({ column }) => keys.some(({ as }) => as === column));
  const rest = start < 0 ? [] : order.slice(start);
  return rest.length === keys.length &&
    rest.every(({ column, descending }, index) => !descending && column === keys[index]?.as);
}

function extreme(metric: ColumnMetric): Extreme {
  const sign = metric.name === "min" ? -1 : 1;
  const { compare } = kinds[metric.column.kind];
  if (compare === null) throw new Error(`Values of ${metric.column.name} have no order`);
  return { metric, compare: (left, right) => sign * compare(left, right) };
}

export interface MaintainedGroup {
  readonly key: readonly unknown[];
  readonly rank: number;
  rows: number;
  readonly totals: Total[];
  /** The current minimum or maximum for each {@link Extreme}; null if all values are NULL. */
  readonly extremes: unknown[];
}

interface Total {
  sum: ExactDecimal;
  values: number;
}

/** A metric's result: as clients see it, and as `having` and the sort order compare it. */
export interface MetricResult {
  readonly shown: unknown;
  readonly compared: unknown;
}

export function toMaintainedGroup(
  { key, metrics }: AggregateGroup,
  rank: number,
  plan: MaintenancePlan,
): MaintainedGroup | null {
  const { summed, extremes } = plan;
  const totals: Total[] = [];
  for (const index of summed.keys()) {
    const total = totalOf(metrics[2 * index + 1], metrics[2 * index + 2]);
    if (total === null) return null;
    totals.push(total);
  }
  const values = metrics.slice(2 * summed.length + 1);
  const fits = extremes.every(({ metric: { column } }, index) => fitsKind(values[index], column));
  return fits ? { key, rank, rows: Number(metrics[0]), totals, extremes: [...values] } : null;
}

export function emptyGroup(
  key: readonly unknown[],
  { summed, extremes }: MaintenancePlan,
): MaintainedGroup {
  return {
    key,
    rank: 0,
    rows: 0,
    totals: summed.map(() => ({ sum: zero, values: 0 })),
    extremes: extremes.map(() => null),
  };
}

/** Adds a row to a group, or removes it. Returns false if only the database can do this. */
export function addRow(
  group: MaintainedGroup,
  row: Row,
  by: 1 | -1,
  { other, summed, extremes }: Pick<MaintenancePlan, "summed" | "extremes"> & { other: Row | null },
): boolean {
  const isShared = ({ name }: ColumnInfo) => other !== null && Object.is(row[name], other[name]);
  for (const [index, column] of summed.entries()) {
    const total = group.totals[index];
    if (total === undefined || isShared(column)) continue;
    const value = recordedJsonValue(row, column);
    if (value === undefined) return false;
    if (value === null) continue;
    const { units, scale } = parseExactDecimal(String(value));
    total.sum = addExactDecimals(total.sum, { units: units * BigInt(by), scale });
    total.values += by;
  }
  for (const [index, { metric: { column }, compare }] of extremes.entries()) {
    if (isShared(column)) continue;
    const value = recordedJsonValue(row, column);
    if (value === undefined) return false;
    if (value === null) continue;
    const current = group.extremes[index] ?? null;
    const isReached = current === null || compare(value, current) >= 0;
    if (by > 0 && isReached) group.extremes[index] = value;
    else if (by < 0 && group.rows === 0) group.extremes[index] = null;
    // The row had the minimum or maximum. Only the database can find the next value.
    else if (by < 0 && isReached) return false;
  }
  return true;
}

export function metricResult(
  metric: Metric,
  group: MaintainedGroup,
  plan: MaintenancePlan,
): MetricResult | null {
  switch (metric.name) {
    case "count":
      return { shown: group.rows, compared: group.rows };
    case "sum":
    case "avg":
      return sumOf(metric, group.totals[plan.summed.indexOf(metric.column)]);
    case "min":
    case "max": {
      const index = plan.extremes.findIndex((extreme) => extreme.metric === metric);
      const value = group.extremes[index] ?? null;
      return { shown: value, compared: value };
    }
    default:
      return unreachable(metric);
  }
}

function sumOf(metric: ColumnMetric, total: Total | undefined): MetricResult | null {
  if (total === undefined || total.values === 0) return { shown: null, compared: null };
  const { sum, values } = total;
  const isAverage = metric.name === "avg";
  if (!metric.exact) {
    const mean = Number(printExactDecimal(sum)) / values;
    return { shown: mean, compared: mean };
  }
  const digits = averageDigits(metric.column);
  // The database would round a longer sum before it divides, so the averages would differ.
  if (isAverage && sum.scale > digits) return null;
  const plain = printExactDecimal(
    isAverage ? divideExactDecimal(sum, BigInt(values), digits) : sum,
  );
  const shown = exactMetricValue(plain, metric);
  return shown === null ? null : { shown, compared: plain };
}

/** Returns a column's value as in JSON; undefined if the value is not recorded or not exact. */
export function recordedJsonValue(row: Row, column: ColumnInfo): unknown {
  if (!Object.hasOwn(row, column.name)) return undefined;
  const value = columnValue(row, column);
  const isExact = fitsKind(value, column) && storedForm(row, column) === undefined;
  return isExact ? groupValue(value, column) : undefined;
}

/** Returns null if the database returned a sum that is no plain number, for instance NaN. */
function totalOf(sum: unknown, values: unknown): Total | null {
  if (sum === null) return values === 0 ? { sum: zero, values: 0 } : null;
  const plain = String(sum);
  return /^-?\d+(?:\.\d+)?$/.test(plain)
    ? { sum: parseExactDecimal(plain), values: Number(values) }
    : null;
}

const zero: ExactDecimal = Object.freeze({ units: 0n, scale: 0 });
