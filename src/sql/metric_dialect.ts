import type { ColumnInfo } from "../schema/table_info.ts";
import type { Fragment, SqlValue } from "./fragment.ts";

/**
 * The part of a dialect for metrics over a group of rows, NULLs left out. The sum of integers, and
 * sum and average of decimals are *exact*: no digit is lost, however many there are, and the engine
 * may have them in another form that compares and sorts as the numbers do.
 */
export interface MetricDialect {
  /** The least or the greatest value; text as `ordered` of a dialect has it. */
  extreme(name: "min" | "max", column: ColumnInfo): Fragment;
  /** The sum: exact except for reals. */
  sum(column: ColumnInfo): Fragment;
  /**
   * The average: of decimals exact, rounded half away from zero to `digits` after the point; of
   * integers the double next to the sum, divided by the count; of reals as the engine has it.
   */
  average(column: ColumnInfo, digits: number): Fragment;
  /**
   * Quicker forms of the sums and averages of some columns, which may find that they cannot be exact.
   * Null if the engine needs none.
   */
  readonly quick: QuickMetrics | null;
  /** A plain decimal, bound for a comparison with an exact metric. */
  boundExact(plain: string): Fragment;
  /**
   * An exact metric from the driver → a plain decimal, or null if it is none, as Postgres' NaN.
   * `onInvalidValue` is called where a value of the group was no number and left out.
   */
  decodeExact(value: Exclude<SqlValue, null>, onInvalidValue: () => void): string | null;
}

/**
 * The part of a dialect for metrics that are quicker than the exact ones and equal to them, for
 * results alone: nothing is compared with them. Where a value of the group makes one inexact, its
 * cell is {@link QuickMetrics.inexact}, or the statement fails as `other`.
 */
export interface QuickMetrics {
  /** The text of a cell whose exact value another statement has to find. */
  readonly inexact: string;
  /** Returns true if the column has these forms. */
  serves(column: ColumnInfo): boolean;
  /** The sum, as {@link MetricDialect.sum} has it. */
  sum(column: ColumnInfo): Fragment;
  /** The average, as {@link MetricDialect.average} has it. */
  average(column: ColumnInfo): Fragment;
}
