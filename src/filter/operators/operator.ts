import type { ColumnInfo } from "../../schema/table_info.ts";
import type { Dialect } from "../../sql/dialect.ts";
import type { Fragment } from "../../sql/fragment.ts";

/** The operands that a filter operator takes. */
export type OperatorTakes =
  /** One value of the column's kind. */
  | "value"
  /** One or more values of the column's kind. */
  | "list"
  /** Two values of the column. */
  | "pair"
  /** One item of the column's lists. */
  | "item"
  /** One or more items of the column's lists. */
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
 * A filter operator: its symbols, its operands, and its meaning in SQL and in memory.
 * `tests/invariants` verifies that both meanings are equal.
 */
export interface Operator {
  /** The first symbol is the operator's name, and the others are aliases. */
  readonly symbols: readonly [string, ...string[]];
  /** The operands that the operator takes. */
  readonly takes: OperatorTakes;
  /** True if `null` means IS NULL, false for IS NOT NULL, and null if `null` is not allowed. */
  readonly nullMeans: boolean | null;
  /** True if the operator is defined for NULL. For every other operator a NULL does not match. */
  readonly testsNull: boolean;
  /** Returns true if the operator can compare values of a column. */
  accepts(column: ColumnInfo): boolean;
  /** Returns the SQL condition, which can be combined with others. Values are bound. */
  toSql(column: ColumnInfo, values: readonly unknown[], dialect: Dialect): Fragment;
  /**
   * Returns the approximate number of steps for each character of a string. Absent for an operator
   * that does not search strings.
   */
  work?(values: readonly unknown[]): number;
  /** Returns true if a stored value matches. NULL occurs only for operators that test for NULL. */
  matches(value: unknown, values: readonly unknown[], column: ColumnInfo): boolean;
}
