import type { SqlSyntax } from "../../sql/statements/sql_syntax.ts";

/** The properties of an engine by which its types and expressions are compared. */
export interface ComparisonFacts {
  /** The syntax by which expressions are compared. */
  readonly syntax: SqlSyntax;
  /** Returns true if two types keep the same values. */
  isSameType(wanted: string, has: string): boolean;
}

/** The properties of an engine by which the changes of a table are planned. */
export interface PlanningFacts {
  /** True if one statement drops tables that refer to one another. */
  readonly dropsTogether: boolean;
  /** True if constraints have names that a migration changes. */
  readonly renamesConstraints: boolean;
  /** Returns true if a column of one type may be a renamed column of the other. */
  mayBeRename(left: string, right: string): boolean;
  /** Returns true if a type keeps each value of another type. */
  isWider(from: string, to: string): boolean;
  /** Returns a condition for values of a column that a type replaces by 0, or null for none. */
  notNumeric(type: string, column: string): string | null;
  /** Returns an expression as a value of a type. */
  cast(value: string, type: string): string;
}
