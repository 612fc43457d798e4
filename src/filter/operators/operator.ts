import type { ColumnInfo } from "../../schema/table_info.ts";
import type { Dialect } from "../../sql/dialect.ts";
import type { Fragment } from "../../sql/fragment.ts";

/** The operands that a filter operator takes. */
export type OperatorTakes =
  /** One value of the column. */
  | "value"
  /** One or more values of the column. */
  | "list"
  /** Two values of the column. */
  | "pair"
  /** One value of the column's lists. */
  | "item"
  /** One or more values of the column's lists. */
  | "items"
  /** A string, taken literally. */
  | "text"
  /** A string with `%`, `_` and the escape `\`. */
  | "pattern"
  /** true or false. */
  | "flag"
  /** A whole number. */
  | "count"
  /** One or more strings, whatever the column's kind: the operands of custom operators. */
  | "texts";

/**
 * A filter operator: its symbols, its operands, and its meaning as SQL and in memory. The two
 * meanings are equal, which `tests/invariants` verifies.
 */
export interface Operator {
  /** The first one is its name, the others are aliases. */
  readonly symbols: readonly [string, ...string[]];
  /** The operands that it takes. */
  readonly takes: OperatorTakes;
  /** The result of IS NULL that `null` after it requires; null if `null` is an error. */
  readonly nullMeans: boolean | null;
  /** True if it is defined for NULL. For every other operator a NULL does not match. */
  readonly testsNull: boolean;
  /** Returns true if it fits a column. */
  accepts(column: ColumnInfo): boolean;
  /** The SQL condition, which can be joined with others; values are bound. */
  toSql(column: ColumnInfo, values: readonly unknown[], dialect: Dialect): Fragment;
  /**
   * About how many steps a comparison takes for each character of a string; absent for one that does
   * not search strings.
   */
  work?(values: readonly unknown[]): number;
  /** Returns true if a stored value passes; it is NULL only for an operator that tests it. */
  matches(value: unknown, values: readonly unknown[], column: ColumnInfo): boolean;
}
