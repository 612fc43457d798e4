/** How large a filter may be; one that passes a limit is a parse error at the first place beyond. */
export const filterLimits = {
  /** UTF-16 units of the whole text. */
  length: 4096,
  /** Parentheses inside parentheses; the brackets of a list do not count. */
  depth: 10,
  comparisons: 100,
  /**
   * Comparisons that walk relations. Each is a join of up to six tables, and the time in which a
   * planner looks for their order grows with the square of their number.
   */
  walks: 16,
  listValues: 200,
  /** UTF-16 units of a pattern with more wildcards than a `%` at either end. */
  pattern: 100,
  /** The values of all comparisons together. */
  values: 1000,
} as const;

/** A filter as it is written: names are not looked up, values are not typed. */
export type FilterSyntax = ComparisonSyntax | GroupSyntax;

/** Two or more terms; a chain `a;b;c` is one group, parentheses make another. */
export interface GroupSyntax {
  /** What stands between the terms. */
  readonly kind: "and" | "or";
  readonly terms: readonly FilterSyntax[];
}

/** `field operator value`, with the offsets that errors are reported at. */
export interface ComparisonSyntax {
  readonly kind: "compare";
  readonly field: string;
  readonly fieldAt: number;
  /** As written: `=gt=` is not yet `>`, and an unknown one is found when it is resolved. */
  readonly operator: string;
  readonly operatorAt: number;
  /** Whether the values stand in `()` or `[]`; a list is never one value. */
  readonly list: boolean;
  /** Where the value or the bracket of the list begins. */
  readonly valuesAt: number;
  readonly values: readonly Literal[];
}

/** One value, its escapes taken out. What it means depends on the column. */
export interface Literal {
  readonly text: string;
  /** `"null"` is a text, `null` is not. */
  readonly quoted: boolean;
  readonly at: number;
}
