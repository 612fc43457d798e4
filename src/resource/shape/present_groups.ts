import type { AggregateGroup } from "../../db/aggregate_groups.ts";
import type { ColumnMetric, GroupKey, Metric } from "../../plan/plan.ts";
import { safeValue } from "../../schema/safe_numbers.ts";
import type { ColumnInfo, Row } from "../../schema/table_info.ts";

export interface GroupView {
  readonly keys: readonly GroupKey[] | null;
  readonly metrics: readonly Metric[];
  readonly readable: readonly ColumnInfo[];
  readonly safeNumbers: boolean;
}

/** Shapes the groups of an aggregate. Throws for a hidden column, whose values it would reveal. */
export function presentGroups(
  groups: readonly AggregateGroup[],
  { keys, metrics, readable, safeNumbers }: GroupView,
): readonly Row[] {
  const columns = [
    ...(keys ?? []).map(({ column }) => column),
    ...metrics.flatMap((metric) => metric.name === "count" ? [] : metric.column),
  ];
  for (const column of columns) {
    if (!readable.includes(column)) throw new Error(`Cannot show groups of "${column.name}"`);
  }
  const valueOf = safeNumbers ? safeValue : plainColumnValue;
  return groups.map((group) => {
    const shown: Record<string, unknown> = keys === null
      ? {}
      : { key: presentKey(group, keys, valueOf) };
    for (const [index, metric] of metrics.entries()) {
      const value = group.metrics[index];
      if (metric.name === "count") shown.count = value;
      else {
        const { name, column } = metric;
        // An average is a double even for an integer column, so it needs no conversion.
        valuesByColumn(shown, name)[column.name] = name === "avg" ? value : valueOf(value, column);
      }
    }
    return shown;
  });
}

function plainColumnValue(value: unknown): unknown {
  return value;
}

function presentKey(
  { key }: AggregateGroup,
  keys: readonly GroupKey[],
  valueOf: (value: unknown, column: ColumnInfo) => unknown,
): Row | null {
  if (keys.length === 0) return null;
  const shown: Record<string, unknown> = {};
  for (const [index, { column }] of keys.entries()) {
    shown[column.name] = valueOf(key[index], column);
  }
  return shown;
}

function valuesByColumn(
  shown: Record<string, unknown>,
  name: ColumnMetric["name"],
): Record<string, unknown> {
  const known = shown[name];
  // The cast is safe: only this function sets the member, and always to an object.
  if (known !== undefined) return known as Record<string, unknown>;
  const values: Record<string, unknown> = {};
  shown[name] = values;
  return values;
}
