import { unreachable } from "../../problem/unreachable.ts";
import type { ColumnInfo } from "../../schema/table_info.ts";
import type { Comparison, Filter } from "../filter.ts";
import { equalOperator, inOperator } from "../operators/value_operators.ts";

/** One value by which a row may pass a filter. */
export interface EqualityTerm {
  /** The column of the row. */
  readonly column: ColumnInfo;
  /** Its value, in process. */
  readonly value: unknown;
}

/** The most terms that a filter is looked up by; one that needs more is tried on every row. */
export const maxEqualityTerms = 16;

/**
 * Terms of which every row that passes has at least one, so that a filter need not be tried on the
 * other rows. Null where there are none to be had; an empty list where no row passes. `isCertain`
 * is that of a `CertifiedComparisons`: elsewhere an equality of the database may be none in memory.
 *
 * They are said of images that `decide.ts` can decide; the others are asked about anyway.
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

/** The one that fewer rows have: those of a lone key, else those with fewer values. */
function better(
  left: readonly EqualityTerm[] | null,
  right: readonly EqualityTerm[] | null,
): readonly EqualityTerm[] | null {
  if (left === null || right === null) return left ?? right;
  return rank(right) < rank(left) ? right : left;
}

/** More than may be used is worse than anything, whatever it is of. */
function rank(terms: readonly EqualityTerm[]): number {
  const ofKey = terms.length <= maxEqualityTerms &&
    terms.every(({ column }) => column.primaryKey);
  return ofKey ? terms.length - maxEqualityTerms - 1 : terms.length;
}
