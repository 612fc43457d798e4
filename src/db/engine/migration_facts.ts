import type { SqlSyntax } from "../../sql/statements/normal_sql.ts";

export interface ComparisonFacts {
  readonly syntax: SqlSyntax;
  isSameType(wanted: string, has: string): boolean;
}

export interface PlanningFacts {
  /** True if tables that refer to one another must be dropped in one statement. */
  readonly dropsTogether: boolean;
  readonly renamesConstraints: boolean;
  mayBeRename(left: string, right: string): boolean;
  isWider(from: string, to: string): boolean;
  /** Returns a condition for values that the type cannot store; null if it can store all values. */
  unfit(type: string, column: string): string | null;
  /** True if a CAST fails for a value that the type cannot store. False if it changes the value. */
  readonly castsCanFail: boolean;
  conversion(column: string, from: string, to: string): string;
  cast(value: string, type: string): string;
}
