import type { SqlValue } from "./fragment.ts";

/** The part of a dialect that shows the plan of a statement, which is not run. */
export interface ExplainDialect {
  /** Returns the statement to run instead of `text`, with the same values. */
  statement(text: string): string;
  /** Returns the rows of a plan as lines, indented by their depth, without the bound values. */
  lines(rows: readonly (readonly SqlValue[])[]): readonly string[];
}
