import { kindProperties } from "../../schema/kinds/kind_properties.ts";
import { allRows } from "../../filter/filter.ts";
import { kinds } from "../../schema/kind_of.ts";
import type { ColumnInfo } from "../../schema/table_info.ts";
import type { AggregateColumns } from "../../plan/aggregate_columns.ts";
import type { AggregatePlan, ColumnMetric, GroupKey, Metric, OrderKey } from "../../plan/plan.ts";
import type { Dialect } from "../../sql/dialect.ts";
import { relatedTables } from "../match/may_affect_filter.ts";

/** The plan for maintaining an aggregate in memory: the sums, minima and maxima of each group. */
export interface MaintenancePlan {
  readonly requested: AggregatePlan;
  /** The query for the initial state of every group: key, row count, sums, minima and maxima. */
  readonly base: AggregatePlan;
  readonly summed: readonly ColumnInfo[];
  readonly extremes: readonly Extreme[];
  /** True if groups keep the database's key order, which JavaScript cannot always reproduce. */
  readonly isRanked: boolean;
}

/** A minimum or maximum to maintain, with a function that compares two of its values. */
export interface Extreme {
  readonly metric: ColumnMetric;
  /** Returns a positive number if `left` is more extreme than `right`, and 0 if both are equal. */
  compare(left: unknown, right: unknown): number;
}

/** Returns how to maintain an aggregate in memory, or null if the result could become inexact. */
export function maintenancePlan(
  requested: AggregatePlan,
  groups: AggregateColumns,
  { dialect, maxGroups }: { readonly dialect: Dialect; readonly maxGroups: number },
): MaintenancePlan | null {
  const { keys, metrics, where, order } = requested;
  // If the filter reads related rows, their changes alone do not show which rows match afterwards.
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
    // Sums of doubles depend on the order of addition, so memory could differ from the database.
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

/** Returns true if the sort order ends with all group keys, ascending and in their own order. */
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
