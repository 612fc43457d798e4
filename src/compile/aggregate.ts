import { averageDigits } from "../plan/aggregate_columns.ts";
import type { AggregatePlan, Metric } from "../plan/plan.ts";
import type { ColumnInfo } from "../schema/table_info.ts";
import { unreachable } from "../problem/unreachable.ts";
import type { Dialect } from "../sql/dialect.ts";
import { type Fragment, identifier, join, rawSql, sql, tableName } from "../sql/fragment.ts";
import { compileOrder } from "./read_rows.ts";
import { joinRelatedRows } from "./related_rows.ts";
import { compileFilter, prependScanCheck } from "./where.ts";

/** Compiles groups as an inner SELECT: outside, `having` and `order` compile like those of rows. */
export function compileAggregate(
  plan: AggregatePlan,
  dialect: Dialect,
  check: Fragment | null,
): Fragment {
  const { table, keys, metrics, limit, relatedTo } = plan;
  const related = relatedTo === undefined ? null : joinRelatedRows(relatedTo, plan.where, dialect);
  const columns = [
    ...keys.map(({ column, as }) =>
      sql`${related?.ordinal ?? dialect.operand(column)} AS ${identifier(as.dbName)}`
    ),
    ...metrics.map((metric) =>
      sql`${compileMetric(metric, dialect, plan.isQuick === true)} AS ${
        identifier(metric.as.dbName)
      }`
    ),
  ];
  const grouping = keys.length === 0
    ? rawSql("")
    : sql` GROUP BY ${rawSql(keys.map((_key, index) => index + 1).join(", "))}${
      checkOfGroups(check, dialect)
    }`;
  const rows = related?.rows ??
    sql`${tableName(table)} WHERE ${prependScanCheck(check, compileFilter(plan.where, dialect))}`;
  const groups = sql`SELECT ${join(columns, ", ")} FROM ${rows}${grouping}`;
  const shown = [...keys, ...metrics].map(({ as }) => identifier(as.dbName));
  const order = plan.order.length === 0
    ? rawSql("")
    : sql` ORDER BY ${compileOrder(plan.order, dialect)}`;
  return sql`SELECT ${join(shown, ", ")} FROM (${groups}) AS ${identifier("groups")} WHERE ${
    compileFilter(plan.having, dialectOfGroups(metrics, dialect))
  }${order} LIMIT ${rawSql(String(limit))}`;
}

function checkOfGroups(check: Fragment | null, { groupCheck }: Dialect): Fragment {
  return check === null || groupCheck === null ? rawSql("") : groupCheck(check);
}

function compileMetric(metric: Metric, { metrics }: Dialect, isQuick: boolean): Fragment {
  const quick = isQuick && metric.column !== null && metrics.quick?.serves(metric.column) === true
    ? metrics.quick
    : null;
  switch (metric.name) {
    case "count":
      return metric.column === null
        ? rawSql("count(*)")
        : sql`count(${identifier(metric.column.dbName)})`;
    case "sum":
      return (quick ?? metrics).sum(metric.column);
    case "avg":
      return quick === null
        ? metrics.average(metric.column, averageDigits(metric.column))
        : quick.average(metric.column);
    case "min":
    case "max":
      return metrics.extreme(metric.name, metric.column);
    default:
      return unreachable(metric);
  }
}

function dialectOfGroups(metrics: readonly Metric[], dialect: Dialect): Dialect {
  const exact = new Set<ColumnInfo>();
  for (const metric of metrics) {
    if (metric.name !== "count" && metric.exact) exact.add(metric.as);
  }
  return {
    ...dialect,
    bound: (value, column) =>
      exact.has(column) ? dialect.metrics.boundExact(String(value)) : dialect.bound(value, column),
  };
}
