import type { Random } from "../../runtime/runtime.ts";
import type { CertifiedComparisons } from "./certified_comparisons.ts";
import { createInMemoryMatcher } from "./in_memory_matcher.ts";
import { type Comparison, directTerms, type Filter } from "../filter.ts";
import { unlimitedWork, type WorkAllowance } from "../filter_work.ts";
import type { RowImage } from "./row_image.ts";

/** A comparison that was decided in memory for an image, and that the database also decides. */
export interface DecidedComparison {
  readonly comparison: Comparison;
  readonly passes: boolean;
}

/**
 * Returns the comparisons that the database evaluates in a shadow check, to verify a decision in
 * memory. Each comparison is evaluated separately, so that a mismatch identifies its comparison.
 */
export function comparisonsToCheck(
  filter: Filter,
  image: RowImage,
  certification: CertifiedComparisons,
  allowance: WorkAllowance = unlimitedWork,
): readonly DecidedComparison[] {
  if (filter.kind !== "compare") {
    return directTerms(filter).flatMap((term) =>
      comparisonsToCheck(term, image, certification, allowance)
    );
  }
  const passes = createInMemoryMatcher(filter, certification, allowance)(image);
  return passes === null ? [] : [{ comparison: filter, passes }];
}

/**
 * Returns the comparisons whose result in memory differs from the database's. The caller must
 * demote them, so that only the database evaluates them. Already demoted comparisons are left out.
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
 * Creates the sampler that chooses decisions for a shadow check: one in a thousand on average, at
 * random. A call costs one decrement.
 */
export function createSampler(random: Random): () => boolean {
  // The gap is uniform between 1 and 2,047, so that events at regular intervals are sampled too.
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
