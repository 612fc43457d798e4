import type { SqlValue } from "./fragment.ts";

/** The part of a dialect that shows the query plan of a statement without running the statement. */
export interface ExplainDialect {
  /** Returns the statement that shows the plan of `text`. It binds the same values as `text`. */
  statement(text: string): string;
  /** Returns the rows of a query plan as lines, indented by depth, without the bound values. */
  lines(rows: readonly (readonly SqlValue[])[]): readonly string[];
}
