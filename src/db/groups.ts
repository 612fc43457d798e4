import type { AggregatePlan, ColumnMetric, Metric } from "../plan/plan.ts";
import { shortestDecimal, withScale } from "../schema/decimal_kind.ts";
import { shortestInteger } from "../schema/number_kinds.ts";
import type { ColumnInfo } from "../schema/table_info.ts";
import type { SqlValue } from "../sql/fragment.ts";
import { asStored } from "../sql/stored_value.ts";
import type { Connection } from "./driver.ts";
import type { RowReader } from "./rows.ts";

/** One group: the values of its keys and of its metrics, in the plan's order and in wire form. */
export interface Group {
  readonly key: readonly unknown[];
  readonly metrics: readonly unknown[];
}

/** Runs a plan that answers with groups. */
export async function fetchGroups(
  connection: Connection,
  plan: AggregatePlan,
  reader: RowReader,
): Promise<readonly Group[]> {
  const { keys, metrics } = plan;
  const { rows } = await connection.query(reader.compile(plan));
  return rows.map((cells) => ({
    key: keys.map(({ column }, index) => readValue(cells[index] ?? null, column, reader)),
    metrics: metrics.map((metric, index) =>
      readMetric(cells[keys.length + index] ?? null, metric, reader)
    ),
  }));
}

function readMetric(cell: SqlValue, metric: Metric, reader: RowReader): unknown {
  if (metric.name === "count") return Number(cell);
  if (cell === null) return null;
  if (metric.exact) return readExact(cell, metric, reader);
  const { as, column } = metric;
  if (metric.name === "min" || metric.name === "max") return readValue(cell, column, reader);
  return reader.dialect.decode(cell, as, () => reader.misfit(column));
}

/** Equal decimals of a column without a scale may be written differently: a group shows one form. */
function readValue(cell: SqlValue, column: ColumnInfo, { dialect, misfit }: RowReader): unknown {
  const value = dialect.decode(cell, column, misfit);
  const isOpen = column.kind === "decimal" && column.scale === null;
  return isOpen && typeof value === "string" ? shortestDecimal(value) : value;
}

/** Sums of integers go on the wire as the integers of their column do, however long they are. */
function readExact(
  cell: Exclude<SqlValue, null>,
  { column, as }: ColumnMetric,
  { dialect, misfit }: RowReader,
): unknown {
  const plain = dialect.metrics.decodeExact(cell, () => misfit(column));
  const scaled = plain === null ? null : withScale(plain, as.scale);
  if (scaled === null) {
    misfit(column);
    return plain ?? asStored(cell);
  }
  if (column.kind === "integer") return shortestInteger(BigInt(scaled));
  return as.scale === null ? shortestDecimal(scaled) : scaled;
}
