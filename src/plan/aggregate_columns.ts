import { kindProperties } from "../schema/kinds/kind_properties.ts";
import { hasExtremes, isAny, isSortable } from "../schema/structured/structured_value.ts";
import {
  type ColumnInfo,
  createTableInfo,
  plainColumn,
  type TableInfo,
} from "../schema/table_info.ts";
import type { ColumnMetric, CountMetric, GroupKey, Metric } from "./plan.ts";

/** Keys and metrics as columns of a virtual table, so that `having` is parsed like a filter. */
export interface AggregateColumns {
  /** The virtual table. If a column and a metric have an equal name, the name means the metric. */
  readonly table: TableInfo;
  readonly count: CountMetric;
  readonly keys: ReadonlyMap<string, GroupKey>;
  /** The metrics by name: `count`, `sum_x`, `avg_x`, `min_x` and `max_x` for a column `x`. */
  readonly metrics: ReadonlyMap<string, Metric>;
  /** The metrics of columns, by function (such as `sum`), and then by column name. */
  readonly ofColumns: ReadonlyMap<ColumnMetric["name"], ReadonlyMap<string, ColumnMetric>>;
}

/** Creates the columns of an aggregate. Only `columns` can be keys, or be used in metrics. */
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

/** Engines truncate long names, so `dbName` contains the index instead of the column's name. */
function called(
  name: string,
  column: ColumnInfo,
  index: number,
): Pick<ColumnInfo, "name" | "dbName"> {
  return { name: `${name}_${column.name}`, dbName: `${name}${index}` };
}

/** The attributes of the virtual columns for keys and metrics, which no table contains. */
const neutral: Omit<ColumnInfo, "name" | "dbName"> = { ...plainColumn, kind: "integer" };

const ordinal: ColumnInfo = { ...neutral, name: "key", dbName: "key0", notNull: true };

/** The group key for metrics of related rows: the index of the key to which the rows belong. */
export const ordinalKey: GroupKey = { column: ordinal, as: ordinal };
