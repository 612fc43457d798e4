import type { ColumnInfo, ColumnKind } from "../../schema/table_info.ts";
import type { Dialect } from "../../sql/dialect.ts";
import type { Fragment } from "../../sql/fragment.ts";

/** What stands after an operator, and so what it is called with. */
export type OperatorTakes =
  /** One value of the column. */
  | "value"
  /** One or more values of the column. */
  | "list"
  /** Two values of the column. */
  | "pair"
  /** A text, taken literally. */
  | "text"
  /** A text with `%`, `_` and the escape `\`. */
  | "pattern"
  /** true or false. */
  | "flag"
  /** A whole number. */
  | "count"
  /** One or more texts, whatever the column holds: what custom operators are given. */
  | "texts";

/**
 * One operator, whole: how it is written, what it takes, and what it means, as SQL and in memory.
 * The two meanings are equal; `tests/invariants` holds them against each other.
 */
export interface Operator {
  /** The first one is its name, the others are aliases. */
  readonly symbols: readonly [string, ...string[]];
  /** How the values are read. */
  readonly takes: OperatorTakes;
  /** What `null` after it means, as the answer that IS NULL must give; null when it is an error. */
  readonly nullMeans: boolean | null;
  /** Whether it looks at NULL. Every other operator is unknown there, and the row is out. */
  readonly testsNull: boolean;
  /** Whether it fits columns of a kind. */
  accepts(kind: ColumnKind): boolean;
  /** A condition that can stand beside others; values are bound. */
  toSql(column: ColumnInfo, values: readonly unknown[], dialect: Dialect): Fragment;
  /** Whether a stored value passes; it is NULL only for an operator that tests it. */
  matches(value: unknown, values: readonly unknown[], column: ColumnInfo): boolean;
}
