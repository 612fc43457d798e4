import type { Random } from "../../runtime/runtime.ts";
import type { CertifiedComparisons } from "./certified_comparisons.ts";
import { createInMemoryMatcher } from "./in_memory_matcher.ts";
import { type Comparison, type Filter, termsOnSameRow } from "../filter.ts";
import { unlimitedWork, type WorkAllowance } from "../filter_work.ts";
import type { RowImage } from "./row_image.ts";

/** A comparison that memory has decided for a row image, and that the database checks. */
export interface DecidedComparison {
  readonly comparison: Comparison;
  readonly passes: boolean;
}

/**
 * Returns the comparisons that a shadow check evaluates in the database to verify a decision in
 * memory. They are evaluated separately, so that a mismatch shows which one is wrong.
 */
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

/**
 * Returns the comparisons for which memory and database had different results. The caller must
 * demote them, so that only the database evaluates them. Demoted ones are left out.
 */
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

/**
 * Creates the function that chooses decisions for a shadow check: one in a thousand on average, at
 * random. Most calls only decrement a counter.
 */
export function createSampler(random: Random): () => boolean {
  // A random gap (1 to 2,047, uniform) also samples events that recur at regular intervals.
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
