import type { ColumnInfo } from "../schema/table_info.ts";
import type { Fragment, SqlValue } from "./fragment.ts";

/**
 * The part of a dialect for metrics (such as sums) over the non-NULL values of a group. Sums of
 * integers, and sums and averages of decimals, are *exact*: no digit is lost. The engine can return
 * an exact metric in another form that compares and sorts like the number.
 */
export interface MetricDialect {
  /** Returns SQL for the minimum or maximum. Strings have the order of `Dialect.ordered`. */
  extreme(name: "min" | "max", column: ColumnInfo): Fragment;
  /** Returns SQL for the sum, which is exact except for reals. */
  sum(column: ColumnInfo): Fragment;
  /**
   * Returns SQL for the average. The average of decimals is exact, rounded half away from zero to
   * `digits` digits after the point. For integers, the exact sum is rounded to a double, and the
   * double is divided by the count. The average of reals is the engine's own.
   */
  average(column: ColumnInfo, digits: number): Fragment;
  /** Faster sums and averages of some columns, perhaps inexact. Null if the engine needs none. */
  readonly quick: QuickMetrics | null;
  /** Returns a decimal, bound for a comparison with an exact metric. */
  boundExact(plain: string): Fragment;
  /** Decodes an exact metric, or NaN as null. `onInvalidValue` reports that values were ignored. */
  decodeExact(value: Exclude<SqlValue, null>, onInvalidValue: () => void): string | null;
}

/**
 * Faster metrics, for results and never for comparisons. Each equals the exact metric, unless its
 * cell is {@link QuickMetrics.inexact}, or the statement fails with the kind `other`.
 */
export interface QuickMetrics {
  /** The cell that marks a metric as inexact, so that an exact statement must compute it. */
  readonly inexact: string;
  /** Returns true if the column has faster metrics. */
  serves(column: ColumnInfo): boolean;
  /** Returns SQL for the sum, like {@link MetricDialect.sum}. */
  sum(column: ColumnInfo): Fragment;
  /** Returns SQL for the average, like {@link MetricDialect.average}. */
  average(column: ColumnInfo): Fragment;
}
