import { unreachable } from "../../problem/unreachable.ts";
import type { ColumnInfo } from "../../schema/table_info.ts";
import type { Comparison, Filter } from "../filter.ts";
import { equalOperator, inOperator } from "../operators/value_operators.ts";

/** One equality term of a filter that a row may satisfy. */
export interface EqualityTerm {
  /** The column. */
  readonly column: ColumnInfo;
  /** Its value, in process. */
  readonly value: unknown;
}

/**
 * The most equality terms that a filter is indexed by; one that needs more is evaluated for every
 * row.
 */
export const maxEqualityTerms = 16;

/**
 * Equality terms of which every row that passes satisfies at least one, so that the filter need not
 * be evaluated for other rows. Null if the filter has none; an empty list where no row passes.
 * `isCertain` is that of `CertifiedComparisons`: without it, values that are equal in the database
 * might not be equal in memory.
 *
 * They hold for images that an in-memory matcher decides; the database evaluates the others anyway.
 */
export function equalityTerms(
  filter: Filter,
  isCertain: (comparison: Comparison) => boolean,
): readonly EqualityTerm[] | null {
  const terms = termsOf(filter, isCertain);
  return terms !== null && terms.length <= maxEqualityTerms ? terms : null;
}

function termsOf(
  filter: Filter,
  isCertain: (comparison: Comparison) => boolean,
): readonly EqualityTerm[] | null {
  switch (filter.kind) {
    case "all":
    case "related":
      return null;
    case "none":
      return [];
    case "and":
      return filter.terms.map((term) => termsOf(term, isCertain)).reduce(better, null);
    case "or": {
      const branches = filter.terms.map((term) => termsOf(term, isCertain));
      return branches.reduce<readonly EqualityTerm[] | null>(
        (all, branch) => all === null || branch === null ? null : [...all, ...branch],
        [],
      );
    }
    case "compare":
      return ofComparison(filter, isCertain);
    default:
      return unreachable(filter);
  }
}

function ofComparison(
  comparison: Comparison,
  isCertain: (comparison: Comparison) => boolean,
): readonly EqualityTerm[] | null {
  const { column, operator, values } = comparison;
  const isEquality = operator === equalOperator || operator === inOperator;
  return isEquality && isCertain(comparison) ? values.map((value) => ({ column, value })) : null;
}

/** The more selective one: terms of the primary key, else the shorter list. */
function better(
  left: readonly EqualityTerm[] | null,
  right: readonly EqualityTerm[] | null,
): readonly EqualityTerm[] | null {
  if (left === null || right === null) return left ?? right;
  return rank(right) < rank(left) ? right : left;
}

/** A list that is too long to be used ranks last, whichever its column. */
function rank(terms: readonly EqualityTerm[]): number {
  const ofKey = terms.length <= maxEqualityTerms &&
    terms.every(({ column }) => column.primaryKey);
  return ofKey ? terms.length - maxEqualityTerms - 1 : terms.length;
}
