import { allRows, comparedColumns } from "../../filter/filter.ts";
import { excerptOf } from "../../filter/syntax/filter_error.ts";
import { nameOfItem, splitNames } from "../../filter/syntax/quoted_name.ts";
import { createOperatorRegistry } from "../../filter/operators/operator_registry.ts";
import { resolveFilter } from "../../filter/resolve_filter.ts";
import type { AggregateColumns } from "../../plan/aggregate_columns.ts";
import { parseGroupOrder } from "../../plan/order.ts";
import { type PageLimits, parseFlag, parseLimit, type Query } from "../http/query_parameters.ts";
import type { Resource } from "../model/resource.ts";
import type { AggregatePlan, Metric } from "../../plan/plan.ts";
import { didYouMean } from "../../problem/nearest_name.ts";
import { invalidParameter } from "../../problem/problem.ts";
import type { ColumnInfo } from "../../schema/table_info.ts";

export interface AggregateQuery extends Pick<AggregatePlan, "keys" | "having" | "order" | "limit"> {
  /** The requested metrics, or the count if the request names no metric. */
  readonly metrics: readonly Metric[];
  readonly furtherMetrics: readonly Metric[];
}

const groupLimits: PageLimits = { defaultLimit: 1_000, maxLimit: 1_000 };

/** Hidden, unknown and unsuitable fields cause identical 400s, which reveal no hidden field. */
export function parseAggregateQuery(
  query: Query,
  { groups, filters }: Pick<Resource, "groups" | "filters">,
): AggregateQuery {
  const keys = parseList(query, "groupBy", groups.keys);
  const metrics = parseMetrics(query, groups);
  const mayUse = (column: ColumnInfo) =>
    metricOf(column, groups) !== undefined || keys.some(({ as }) => as === column);
  // Groups with equal sort values are sorted by the group keys, as rows are by the primary key.
  const table = { ...groups.table, primaryKey: keys.map(({ as }) => as) };
  const syntax = filters.parse(query.get("having") ?? "");
  // The SQL of custom operators is defined for columns and does not apply to groups.
  const having = syntax === null ? allRows : resolveFilter(syntax, {
    table,
    operators: createOperatorRegistry({}),
    mayFilter: mayUse,
    readable: table.columns,
  });
  const order = parseGroupOrder(query.get("orderBy") ?? null, table, {
    sortable: { has: mayUse },
    readable: table.columns,
  });
  const used = [...comparedColumns(having), ...order.map(({ column }) => column)]
    .flatMap((column) => metricOf(column, groups) ?? []);
  return {
    keys,
    metrics,
    furtherMetrics: [...new Set(used)].filter((metric) => !metrics.includes(metric)),
    having,
    order,
    limit: parseLimit(query.get("limit") ?? null, groupLimits),
  };
}

export function parseMetrics(
  query: Query,
  { count, ofColumns }: AggregateColumns,
): readonly Metric[] {
  const metrics: Metric[] = [];
  for (const [name, byColumn] of ofColumns) {
    if (query.has(name)) metrics.push(...parseList(query, name, byColumn));
  }
  const isCounted = parseFlag(query, "count") || metrics.length === 0;
  return isCounted ? [count, ...metrics] : metrics;
}

function parseList<T>(
  query: Query,
  parameter: string,
  meanings: ReadonlyMap<string, T>,
): readonly T[] {
  const text = query.get(parameter) ?? "";
  const found: T[] = [];
  for (const name of text === "" ? [] : splitNames(text).map(nameOfItem)) {
    const item = meanings.get(name);
    if (item === undefined) {
      const hint = didYouMean(name, [...meanings.keys()]);
      throw invalidParameter(
        `Cannot use ${excerptOf(name)} in ${parameter}: it is not a field for that${hint}`,
      );
    }
    if (found.includes(item)) {
      throw invalidParameter(`Cannot use ${excerptOf(name)} in ${parameter} twice`);
    }
    found.push(item);
  }
  return found;
}

function metricOf(column: ColumnInfo, { metrics }: AggregateColumns): Metric | undefined {
  const metric = metrics.get(column.name);
  return metric?.as === column ? metric : undefined;
}
