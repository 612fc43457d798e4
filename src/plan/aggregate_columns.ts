import { kindProperties } from "../schema/kinds/kind_properties.ts";
import { hasExtremes, isAny, isSortable } from "../schema/structured/kind_of_column.ts";
import {
  type ColumnInfo,
  createTableInfo,
  plainColumn,
  type TableInfo,
} from "../schema/table_info.ts";
import type { ColumnMetric, CountMetric, GroupKey, Metric } from "./plan.ts";

/**
 * The keys and metrics of an aggregate over a table. Each of them is a column of a virtual table, so
 * `having` and `orderBy` are parsed like the filter and order of any table.
 */
export interface AggregateColumns {
  /** The virtual table. If a column and a metric have the same name, the name means the metric. */
  readonly table: TableInfo;
  readonly count: CountMetric;
  /** The keys by which rows are grouped, by column name. */
  readonly keys: ReadonlyMap<string, GroupKey>;
  /** The metrics by name: `count`, `sum_x`, `avg_x`, `min_x` and `max_x` for a column `x`. */
  readonly metrics: ReadonlyMap<string, Metric>;
  /** The metrics of columns, by kind of metric (such as `sum`), and then by column name. */
  readonly ofColumns: ReadonlyMap<ColumnMetric["name"], ReadonlyMap<string, ColumnMetric>>;
}

/** Creates the columns of an aggregate. Only `columns` may be keys or columns of metrics. */
export function createAggregateColumns(
  { name, schema, own }: TableInfo,
  columns: readonly ColumnInfo[],
): AggregateColumns {
  const ordered = columns.filter(isSortable);
  const keys = ordered.map((column, index) => ({
    column,
    as: { ...column, dbName: `key${index}` },
  }));
  const count: CountMetric = {
    name: "count",
    column: null,
    as: { ...neutral, name: "count", dbName: "count", notNull: true },
  };
  const ofColumns = ordered.flatMap(metricsOf);
  const metrics = [count, ...ofColumns];
  return {
    table: createTableInfo({
      name,
      schema,
      own,
      columns: [...keys, ...metrics].map(({ as }) => as),
      primaryKey: keys.map(({ as }) => as),
      foreignKeys: [],
    }),
    count,
    keys: new Map(keys.map((key) => [key.column.name, key])),
    metrics: new Map(metrics.map((metric): [string, Metric] => [metric.as.name, metric])),
    ofColumns: new Map(
      (["sum", "avg", "min", "max"] as const).map((wanted) => [
        wanted,
        new Map(
          ofColumns.filter(({ name }) => name === wanted).map((one) => [one.column.name, one]),
        ),
      ]),
    ),
  };
}

/** Returns how many digits after the point the average of a decimal column has. */
export function averageDigits({ scale }: ColumnInfo): number {
  return scale === null ? openAverageDigits : scale + furtherAverageDigits;
}

const openAverageDigits = 16;
const furtherAverageDigits = 6;

function metricsOf(column: ColumnInfo, index: number): readonly ColumnMetric[] {
  const extremes = (["min", "max"] as const).map((name): ColumnMetric => ({
    name,
    column,
    as: { ...column, ...called(name, column, index), notNull: false },
    exact: false,
  }));
  if (!hasExtremes(column)) return [];
  const { arithmetic } = kindProperties[column.kind];
  if (arithmetic === null && !isAny(column)) return extremes;
  const isExact = arithmetic !== "double" && !isAny(column);
  const sumScale = arithmetic === "decimal" ? column.scale : 0;
  const averageScale = column.scale === null ? null : averageDigits(column);
  const number = (name: "sum" | "avg", exact: boolean, scale: number | null): ColumnMetric => ({
    name,
    column,
    as: exact
      ? { ...neutral, ...called(name, column, index), kind: "decimal", scale }
      : { ...neutral, ...called(name, column, index), kind: "real" },
    exact,
  });
  return [
    number("sum", isExact, sumScale),
    number("avg", arithmetic === "decimal", averageScale),
    ...extremes,
  ];
}

/** The database name ends in a number, because engines truncate long column names. */
function called(
  name: string,
  column: ColumnInfo,
  index: number,
): Pick<ColumnInfo, "name" | "dbName"> {
  return { name: `${name}_${column.name}`, dbName: `${name}${index}` };
}

/** The attributes of a key or metric as a column, which no table declares. */
const neutral: Omit<ColumnInfo, "name" | "dbName"> = { ...plainColumn, kind: "integer" };
