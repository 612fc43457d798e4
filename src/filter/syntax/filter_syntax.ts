/**
 * The limits of a filter's syntax tree and string. Exceeding one is a parse error at the first
 * position beyond it.
 */
export const filterLimits = {
  /** UTF-16 units of the whole string. */
  length: 4096,
  /** Parentheses inside parentheses. The brackets of a list do not count. */
  depth: 10,
  comparisons: 100,
  /**
   * Comparisons along relations. Each is a join of up to six tables, and the planning time of the
   * database grows with the square of their number.
   */
  walks: 16,
  /** Names that lead into a JSON document. */
  pathNames: 10,
  /** Of these names, the ones that may be indexes of arrays or names of members. */
  pathIndexes: 3,
  listValues: 200,
  /** UTF-16 units of a pattern with more wildcards than a `%` at either end. */
  pattern: 100,
  /** UTF-16 units of all such patterns, each of which is tried at every position of a string. */
  patterns: 500,
  /** The values of all comparisons together. */
  values: 1000,
} as const;

/** The syntax tree of a filter as written: names are not resolved, values are not typed. */
export type FilterSyntax = ComparisonSyntax | GroupSyntax;

/**
 * A group in a filter's syntax tree, of two or more terms. A chain `a;b;c` is one group.
 * Parentheses create another.
 */
export interface GroupSyntax {
  /** The connective between the terms. */
  readonly kind: "and" | "or";
  readonly terms: readonly FilterSyntax[];
}

/**
 * A comparison in a filter's syntax tree: `field operator value`, with the offsets for error
 * messages.
 */
export interface ComparisonSyntax {
  readonly kind: "compare";
  /** The field as written. */
  readonly field: string;
  /**
   * The names of the field, if one of them is quoted. Without quotes a dot may be part of a name.
   */
  readonly path?: readonly string[];
  readonly fieldAt: number;
  /** The operator as written: `=gt=` is not yet `>`, and may be unknown. */
  readonly operator: string;
  readonly operatorAt: number;
  /** True if the values are in `()` or `[]`. A list is never one value. */
  readonly list: boolean;
  /** The offset of the value or of the list's bracket. */
  readonly valuesAt: number;
  readonly values: readonly Literal[];
}

/** One unescaped value in a filter's syntax tree. Its meaning depends on the column. */
export interface Literal {
  readonly text: string;
  /** True in quotes: `"null"` is a string, `null` is not. */
  readonly quoted: boolean;
  readonly at: number;
}
