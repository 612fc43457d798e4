import type { SqlValue } from "./fragment.ts";

/** The part of a dialect that shows the plan of a statement, which is not run. */
export interface ExplainDialect {
  /** The text of a statement, to be run in its place with its values. */
  statement(text: string): string;
  /** Its rows as lines, indented by what they are a part of, without the values that were bound. */
  lines(rows: readonly (readonly SqlValue[])[]): readonly string[];
}
