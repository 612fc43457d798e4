import type { ColumnInfo } from "../schema/table_info.ts";
import type { Fragment, SqlValue } from "./fragment.ts";

/**
 * The part of a dialect for metrics over a group of rows, without NULLs. The sum of integers, and
 * the sum and average of decimals are *exact*: no digit is lost. The engine may return an exact
 * metric in another form that compares and sorts like the number.
 */
export interface MetricDialect {
  /** Returns SQL for the minimum or maximum. Strings are ordered as in `ordered` of a dialect. */
  extreme(name: "min" | "max", column: ColumnInfo): Fragment;
  /** Returns SQL for the sum, which is exact except for reals. */
  sum(column: ColumnInfo): Fragment;
  /**
   * Returns SQL for the average. The average of decimals is exact, rounded half away from zero to
   * `digits` digits after the point. The average of integers is the double closest to their sum,
   * divided by the count. The average of reals is the engine's own.
   */
  average(column: ColumnInfo, digits: number): Fragment;
  /** Faster sums and averages of some columns, which may be inexact, or null if none are needed. */
  readonly quick: QuickMetrics | null;
  /** Returns a plain decimal, bound for a comparison with an exact metric. */
  boundExact(plain: string): Fragment;
  /**
   * Decodes an exact metric to a plain decimal, or to null if the metric is not a number, like the
   * NaN of Postgres. Calls `onInvalidValue` if a value that is not a number was ignored.
   */
  decodeExact(value: Exclude<SqlValue, null>, onInvalidValue: () => void): string | null;
}

/**
 * The part of a dialect for metrics that are faster than the exact ones and equal to them. They are
 * used only in results, and never in comparisons. If a value of the group makes a metric inexact,
 * the metric's cell is {@link QuickMetrics.inexact}, or the statement fails as `other`.
 */
export interface QuickMetrics {
  /** The text of a cell whose exact value needs another statement. */
  readonly inexact: string;
  /** Returns true if the column has faster metrics. */
  serves(column: ColumnInfo): boolean;
  /** Returns SQL for the sum, like {@link MetricDialect.sum}. */
  sum(column: ColumnInfo): Fragment;
  /** Returns SQL for the average, like {@link MetricDialect.average}. */
  average(column: ColumnInfo): Fragment;
}
