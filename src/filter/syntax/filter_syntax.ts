export const filterLimits = {
  /** The maximum length of the whole string, in UTF-16 units. */
  length: 4096,
  /** The maximum depth of parentheses. The brackets of a list do not count. */
  depth: 10,
  comparisons: 100,
  /** Comparisons of related columns. Each joins up to six tables, with quadratic planning time. */
  walks: 16,
  pathNames: 10,
  /** How many names in a path may be whole numbers. SQL tries each as a name and as an index. */
  pathIndexes: 3,
  listValues: 200,
  /** The maximum length of a pattern with wildcards other than `%` at its ends, in UTF-16 units. */
  pattern: 100,
  /** The maximum total of such patterns' lengths in a filter: each is tried at every position. */
  patterns: 500,
  values: 1000,
} as const;

/** The limits that differ if the filter is in a body, where no proxy limits its length. */
export interface FilterLengths {
  readonly length: number;
  readonly listValues: number;
}

/** The limits of a filter in the body of `POST /query`: a list of a thousand UUIDs fits. */
export const filterLengthsInBody: FilterLengths = { length: 65_536, listValues: 1_000 };

export type FilterSyntax =
  | ComparisonSyntax
  | GroupSyntax
  | QuantifiedSyntax
  | { readonly kind: "not"; readonly term: FilterSyntax }
  | InsertedSyntax;

export const quantifiers = ["some", "none", "every"] as const;

export type RelationQuantifier = (typeof quantifiers)[number];

/** A quantifier in a filter's syntax tree: `members.some(userId==7;role==admin)`. */
export interface QuantifiedSyntax {
  readonly kind: RelationQuantifier;
  readonly path: readonly string[];
  readonly pathAt: number;
  readonly term: FilterSyntax;
}

/** A rule that a template string interpolates as a term: the template's value at `index`. */
export interface InsertedSyntax {
  readonly kind: "inserted";
  readonly index: number;
  readonly at: number;
}

export function termsOfSyntax(syntax: FilterSyntax): readonly FilterSyntax[] {
  if ("terms" in syntax) return syntax.terms;
  return "term" in syntax ? [syntax.term] : [];
}

/** A group of terms, such as `a;b;c`. It is empty only for empty parentheses: `members.some()`. */
export interface GroupSyntax {
  readonly kind: "and" | "or";
  readonly terms: readonly FilterSyntax[];
}

export interface ComparisonSyntax {
  readonly kind: "compare";
  readonly field: string;
  /** The names in the field if at least one is quoted. If absent, `field` is split later. */
  readonly path?: readonly string[];
  readonly fieldAt: number;
  /** The operator as in the string, even an unknown one: `=gt=` is not converted to `>` yet. */
  readonly operator: string;
  readonly operatorAt: number;
  /** True if the values are in `()` or `[]`, even if there is only one. */
  readonly list: boolean;
  readonly valuesAt: number;
  readonly values: readonly Literal[];
}

/** A value in a filter's syntax tree, without its escapes. The column determines its type later. */
export interface Literal {
  readonly text: string;
  /** True for a value in quotes: `"null"` is a string, and `null` is not. */
  readonly quoted: boolean;
  readonly at: number;
}
