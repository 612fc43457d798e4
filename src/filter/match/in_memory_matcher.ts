import { unreachable } from "../../problem/unreachable.ts";
import { kindTest } from "../../schema/fits_kind.ts";
import type { CertifiedComparisons } from "./certified_comparisons.ts";
import type { Comparison, Filter } from "../filter.ts";
import { columnValue } from "./row_matches.ts";
import type { RowImage } from "./row_image.ts";

/** Whether an image passes; null where only the database can tell. */
export type InMemoryMatcher = (image: RowImage) => boolean | null;

/**
 * Decides a filter in memory as far as that is certain. What is open in one term often does not
 * matter: `ownerId==7;project.owner==7` is settled for every row with another owner.
 *
 * A demotion takes effect in what is made after it.
 */
export function createInMemoryMatcher(
  filter: Filter,
  certification: CertifiedComparisons,
): InMemoryMatcher {
  switch (filter.kind) {
    case "all":
      return () => true;
    case "none":
      return () => false;
    case "and":
      return decideTerms(
        filter.terms.map((term) => createInMemoryMatcher(term, certification)),
        false,
      );
    case "or":
      return decideTerms(
        filter.terms.map((term) => createInMemoryMatcher(term, certification)),
        true,
      );
    case "related":
      return undecided;
    case "compare":
      return certification.isCertain(filter) ? decideComparison(filter) : undecided;
    default:
      return unreachable(filter);
  }
}

/** Whether memory decides the filter for every row whose values fit their kinds. */
export function isDecidableInMemory(filter: Filter, certification: CertifiedComparisons): boolean {
  switch (filter.kind) {
    case "all":
    case "none":
      return true;
    case "and":
    case "or":
      return filter.terms.every((term) => isDecidableInMemory(term, certification));
    case "related":
      return false;
    case "compare":
      return certification.isCertain(filter);
    default:
      return unreachable(filter);
  }
}

function undecided(): null {
  return null;
}

/** `settling` is the answer of a term that settles the group whatever the others answer. */
function decideTerms(terms: readonly InMemoryMatcher[], settling: boolean): InMemoryMatcher {
  return (image) => {
    let answer: boolean | null = !settling;
    for (const decide of terms) {
      const decided = decide(image);
      if (decided === settling) return settling;
      if (decided === null) answer = null;
    }
    return answer;
  };
}

function decideComparison(comparison: Comparison): InMemoryMatcher {
  const { column, operator, values } = comparison;
  const { name } = column;
  const fits = kindTest(column);
  // Most names are those of no inherited member: then looking for an own one costs for nothing.
  const isInherited = name in Object.prototype;
  return ({ row, inexact }) => {
    const value = isInherited ? columnValue(row, column) : row[name] ?? null;
    if (value !== null && !fits(value, column) || inexact?.has(column)) return null;
    return (value !== null || operator.testsNull) && operator.matches(value, values, column);
  };
}
