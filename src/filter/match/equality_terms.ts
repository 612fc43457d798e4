import { unreachable } from "../../problem/unreachable.ts";
import type { ColumnInfo } from "../../schema/table_info.ts";
import type { Comparison, Filter } from "../filter.ts";
import { equalOperator, inOperator } from "../operators/operator_registry.ts";

export interface EqualityTerm {
  readonly column: ColumnInfo;
  readonly value: unknown;
}

/** Maximum number of equality terms. Filters with more terms are evaluated for every row. */
export const maxEqualityTerms = 16;

/**
 * Returns equality terms of a filter: every matching row satisfies at least one of them, so the
 * filter need not be evaluated for other rows. Returns null if the filter has no such terms, and an
 * empty list if no row matches. `isCertain` of `CertifiedComparisons` excludes comparisons for
 * which the database could treat different values as equal.
 *
 * The terms apply only to rows for which a matcher can decide in memory. For all other rows, the
 * database evaluates the whole filter.
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
    case "not":
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

/** Prefers terms of the primary key, and otherwise the list with fewer terms. */
function better(
  left: readonly EqualityTerm[] | null,
  right: readonly EqualityTerm[] | null,
): readonly EqualityTerm[] | null {
  if (left === null || right === null) return left ?? right;
  return rank(right) < rank(left) ? right : left;
}

function rank(terms: readonly EqualityTerm[]): number {
  const ofKey = terms.length <= maxEqualityTerms && terms.every(({ column }) => column.primaryKey);
  return ofKey ? terms.length - maxEqualityTerms - 1 : terms.length;
}
