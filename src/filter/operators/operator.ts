import type { ColumnInfo } from "../../schema/table_info.ts";
import type { Dialect } from "../../sql/dialect.ts";
import type { Fragment } from "../../sql/fragment.ts";

/** The kinds of operands that filter operators take after their symbol. */
export type OperatorTakes =
  | "value"
  | "list"
  | "pair"
  /** One item of the column's lists. */
  | "item"
  /** One or more items of the column's lists. */
  | "items"
  /** A string without wildcards. */
  | "text"
  | "pattern"
  | "query"
  | "flag"
  | "count"
  | "texts";

/** A filter operator: its symbols, its operands, and its evaluation in SQL and in memory. */
export interface Operator {
  /** The first symbol is the operator's name, and the others are aliases. */
  readonly symbols: readonly [string, ...string[]];
  /** The kind of operands that the operator takes. */
  readonly takes: OperatorTakes;
  /** The operand `null` means IS NULL if true, IS NOT NULL if false, and is an error if null. */
  readonly nullMeans: boolean | null;
  /** True if the operator has a result for NULL. With every other operator, NULL never matches. */
  readonly testsNull: boolean;
  /** Returns true if the operator can compare values of a column. */
  accepts(column: ColumnInfo): boolean;
  /** Returns the SQL condition, with bound values. It can be combined by AND and OR. */
  toSql(column: ColumnInfo, values: readonly unknown[], dialect: Dialect): Fragment;
  /** Estimates the steps per character of a compared string. Absent if no string is searched. */
  work?(values: readonly unknown[]): number;
  /** Evaluates the operator in memory. `value` is null only for operators that test for NULL. */
  matches(value: unknown, values: readonly unknown[], column: ColumnInfo): boolean;
}
