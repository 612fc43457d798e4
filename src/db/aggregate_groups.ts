import { kindProperties } from "../schema/kinds/kind_properties.ts";
import type { AggregatePlan, ColumnMetric, Metric } from "../plan/plan.ts";
import { catching, chain, type MaybePromise } from "../runtime/maybe_promise.ts";
import { numberOrBigint, shortestDecimal, withScale } from "../schema/kinds/number_kinds.ts";
import type { ColumnInfo } from "../schema/table_info.ts";
import { type SqlValue, storedValueAsJson } from "../sql/fragment.ts";
import type { Dialect } from "../sql/dialect.ts";
import { DatabaseError } from "./database_error.ts";
import type { Connection } from "./driver.ts";
import type { RowReader } from "./rows.ts";

/** A group of an aggregate: its keys and metrics as in a JSON response, in the plan's order. */
export interface AggregateGroup {
  readonly key: readonly unknown[];
  readonly metrics: readonly unknown[];
}

type Cells = readonly (readonly SqlValue[])[];

export function fetchGroups(
  connection: Connection,
  plan: AggregatePlan,
  reader: RowReader,
): MaybePromise<readonly AggregateGroup[]> {
  const cellsOf = (variant: AggregatePlan): MaybePromise<Cells> =>
    chain(connection.query(reader.compile(variant)), ({ rows }) => rows);
  const cells = mayBeQuick(plan, reader.dialect)
    ? chain(
      catching<Cells | null>(() => cellsOf({ ...plan, isQuick: true }), unlessInexact),
      (quick) => quick === null || isInexact(quick, reader.dialect) ? cellsOf(plan) : quick,
    )
    : cellsOf(plan);
  return chain(cells, (rows) => decodeGroups(rows, plan, reader));
}

/** Returns true if faster, possibly inexact metrics can be tried: no HAVING or order uses them. */
function mayBeQuick({ metrics, having, order }: AggregatePlan, dialect: Dialect): boolean {
  const { quick } = dialect.metrics;
  if (quick === null || having.kind !== "all") return false;
  return metrics.some((metric) =>
    (metric.name === "sum" || metric.name === "avg") && quick.serves(metric.column)
  ) && !order.some(({ column }) => metrics.some(({ as }) => as === column));
}

function unlessInexact(error: unknown): null {
  if (error instanceof DatabaseError && error.kind === "other") return null;
  throw error;
}

function isInexact(cells: Cells, { metrics: { quick } }: Dialect): boolean {
  // If a group key equals the marker of inexact metrics, the exact statement runs needlessly.
  return quick !== null && cells.some((row) => row.includes(quick.inexact));
}

export function decodeGroups(
  rows: readonly (readonly SqlValue[])[],
  { keys, metrics }: AggregatePlan,
  reader: RowReader,
): readonly AggregateGroup[] {
  return rows.map((cells) => ({
    key: keys.map(({ column }, index) => decodeValue(cells[index] ?? null, column, reader)),
    metrics: metrics.map((metric, index) =>
      decodeMetric(cells[keys.length + index] ?? null, metric, reader)
    ),
  }));
}

/** Converts a decimal to a metric's JSON value. Null if it has too many fractional digits. */
export function exactMetricValue(plain: string, { column, as }: ColumnMetric): unknown {
  const scaled = withScale(plain, as.scale);
  if (scaled === null) return null;
  if (column.kind === "integer") return numberOrBigint(BigInt(scaled));
  return as.scale === null ? shortestDecimal(scaled) : scaled;
}

function decodeMetric(cell: SqlValue, metric: Metric, reader: RowReader): unknown {
  if (metric.name === "count") return Number(cell);
  if (cell === null) return null;
  if (metric.exact) return decodeExact(cell, metric, reader);
  const { as, column } = metric;
  if (metric.name === "min" || metric.name === "max") return decodeValue(cell, column, reader);
  return reader.dialect.decode(cell, as, () => reader.onInvalidValue(column));
}

function decodeValue(
  cell: SqlValue,
  column: ColumnInfo,
  { dialect, onInvalidValue }: RowReader,
): unknown {
  return groupValue(dialect.decode(cell, column, onInvalidValue), column);
}

/** Returns a group's value. Decimals without a scale are shortened: `1.5` and `1.50` are equal. */
export function groupValue(value: unknown, column: ColumnInfo): unknown {
  const isOpen = kindProperties[column.kind].arithmetic === "decimal" && column.scale === null;
  return isOpen && typeof value === "string" ? shortestDecimal(value) : value;
}

function decodeExact(
  cell: Exclude<SqlValue, null>,
  metric: ColumnMetric,
  { dialect, onInvalidValue }: RowReader,
): unknown {
  const plain = dialect.metrics.decodeExact(cell, () => onInvalidValue(metric.column));
  const value = plain === null ? null : exactMetricValue(plain, metric);
  if (value !== null) return value;
  onInvalidValue(metric.column);
  return plain ?? storedValueAsJson(cell);
}
