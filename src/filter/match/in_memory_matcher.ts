import { unreachable } from "../../problem/unreachable.ts";
import { kindTest } from "../../schema/kinds/fits_kind.ts";
import type { CertifiedComparisons } from "./certified_comparisons.ts";
import { type Comparison, type Filter, termsOnSameRow } from "../filter.ts";
import { comparisonWork, unlimitedWork, type WorkAllowance } from "../filter_work.ts";
import { columnValue, type RowImage, storedForm } from "./row_matches.ts";
import type { Random } from "../../runtime/runtime.ts";

/** Returns true if a row passes a filter, or null if only the database can decide that. */
export type InMemoryMatcher = (image: RowImage) => boolean | null;

/**
 * Creates the in-memory matcher of a filter, which decides only if the result is certain. An
 * undecided term often does not matter: `ownerId==7;project.owner==7` is false for every row with
 * another `ownerId`. A comparison that exceeds the work allowance is undecided, too.
 *
 * If a comparison is later left to the database (demoted), existing matchers still decide it.
 */
export function createInMemoryMatcher(
  filter: Filter,
  certification: CertifiedComparisons,
  allowance: WorkAllowance = unlimitedWork,
): InMemoryMatcher {
  const compiled = (term: Filter) => createInMemoryMatcher(term, certification, allowance);
  switch (filter.kind) {
    case "all":
      return () => true;
    case "none":
      return () => false;
    case "and":
      return decideTerms(filter.terms.map(compiled), false);
    case "or":
      return decideTerms(filter.terms.map(compiled), true);
    case "related":
      return undecided;
    case "not": {
      const decide = compiled(filter.term);
      return (image) => {
        const decided = decide(image);
        return decided === null ? null : !decided;
      };
    }
    case "compare":
      return certification.isCertain(filter) ? decideComparison(filter, allowance) : undecided;
    default:
      return unreachable(filter);
  }
}

function undecided(): null {
  return null;
}

/** Combines terms with AND or OR. A term with the result `absorbing` (false for AND) decides. */
function decideTerms(terms: readonly InMemoryMatcher[], absorbing: boolean): InMemoryMatcher {
  return (image) => {
    let result: boolean | null = !absorbing;
    for (const decide of terms) {
      const decided = decide(image);
      if (decided === absorbing) return absorbing;
      if (decided === null) result = null;
    }
    return result;
  };
}

function decideComparison(comparison: Comparison, allowance: WorkAllowance): InMemoryMatcher {
  const { column, operator, values } = comparison;
  const work = comparisonWork(comparison);
  const { name } = column;
  const fits = kindTest(column);
  // Only a column with the name of a member of `Object.prototype` needs the slower check.
  const isInherited = name in Object.prototype;
  return ({ row }) => {
    const value = isInherited ? columnValue(row, column) : row[name] ?? null;
    if (value !== null && !fits(value, column) || storedForm(row, column) !== undefined) {
      return null;
    }
    if (work > 0 && typeof value === "string" && !allowance.take(work * value.length)) return null;
    return (value !== null || operator.testsNull) && operator.matches(value, values, column);
  };
}

export interface DecidedComparison {
  readonly comparison: Comparison;
  readonly passes: boolean;
}

/** Returns the comparisons that are certain in memory. A shadow check repeats them in SQL. */
export function comparisonsToCheck(
  filter: Filter,
  image: RowImage,
  certification: CertifiedComparisons,
  allowance: WorkAllowance = unlimitedWork,
): readonly DecidedComparison[] {
  if (filter.kind !== "compare") {
    return termsOnSameRow(filter).flatMap((term) =>
      comparisonsToCheck(term, image, certification, allowance)
    );
  }
  const passes = createInMemoryMatcher(filter, certification, allowance)(image);
  return passes === null ? [] : [{ comparison: filter, passes }];
}

export function mismatchedComparisons(
  decided: readonly DecidedComparison[],
  results: readonly boolean[],
  certification: CertifiedComparisons,
): readonly Comparison[] {
  return decided
    .filter(({ comparison, passes }, index) =>
      passes !== results[index] && certification.isCertain(comparison)
    )
    .map(({ comparison }) => comparison);
}

export function createSampler(random: Random): () => boolean {
  // The gap is random (1 to 2,047): a constant gap could always miss the same regular events.
  const gap = () => {
    const [high = 0, low = 0] = random.bytes(2);
    return Math.max(1, (high * 256 + low) % 2_048);
  };
  let left = gap();
  return () => {
    if (--left > 0) return false;
    left = gap();
    return true;
  };
}
