import type { Random } from "../../runtime/runtime.ts";
import type { CertifiedComparisons } from "./certified_comparisons.ts";
import { createInMemoryMatcher } from "./in_memory_matcher.ts";
import type { Comparison, Filter } from "../filter.ts";
import { anyWork, type WorkAllowance } from "../filter_work.ts";
import type { RowImage } from "./row_image.ts";

/** A comparison that memory has decided about an image, for the database to decide as well. */
export interface DecidedComparison {
  readonly comparison: Comparison;
  readonly passes: boolean;
}

/**
 * The comparisons that a shadow check has the database evaluate, to verify the decision of memory
 * about an image: each one separately, so that a mismatch names its comparison.
 */
export function comparisonsToCheck(
  filter: Filter,
  image: RowImage,
  certification: CertifiedComparisons,
  allowance: WorkAllowance = anyWork,
): readonly DecidedComparison[] {
  if (filter.kind === "and" || filter.kind === "or") {
    return filter.terms.flatMap((term) =>
      comparisonsToCheck(term, image, certification, allowance)
    );
  }
  if (filter.kind !== "compare") return [];
  const passes = createInMemoryMatcher(filter, certification, allowance)(image);
  return passes === null ? [] : [{ comparison: filter, passes }];
}

/**
 * The comparisons for which a shadow check found different results of database and memory: they
 * must be demoted, unless another check has done so.
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
 * Creates the sampler that chooses the decisions for a shadow check: one call in a thousand on
 * average, at random; a call costs one decrement.
 */
export function createSampler(random: Random): () => boolean {
  // Uniform between 1 and 2,047, so that events at regular intervals are sampled too.
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
