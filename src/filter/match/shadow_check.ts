import type { Random } from "../../runtime/runtime.ts";
import type { CertifiedComparisons } from "./certified_comparisons.ts";
import { createInMemoryMatcher } from "./in_memory_matcher.ts";
import type { Comparison, Filter } from "../filter.ts";
import type { RowImage } from "./row_image.ts";

/**
 * What to ask of the database about an image in order to check what memory has decided about it:
 * every comparison alone, so that the one at fault shows.
 */
export function comparisonsToCheck(
  filter: Filter,
  image: RowImage,
  certification: CertifiedComparisons,
): readonly Comparison[] {
  if (filter.kind === "and" || filter.kind === "or") {
    return filter.terms.flatMap((term) => comparisonsToCheck(term, image, certification));
  }
  const isDecided = filter.kind === "compare" &&
    createInMemoryMatcher(filter, certification)(image) !== null;
  return isDecided ? [filter] : [];
}

/** The comparisons that the database has answered otherwise than memory: to be demoted. */
export function mismatchedComparisons(
  questions: readonly Comparison[],
  image: RowImage,
  answers: readonly boolean[],
  certification: CertifiedComparisons,
): readonly Comparison[] {
  return questions.filter((comparison, index) => {
    const decided = createInMemoryMatcher(comparison, certification)(image);
    return decided !== null && decided !== answers[index];
  });
}

/** True for one call of a thousand on average, by chance, at the cost of counting down. */
export function createSampler(random: Random): () => boolean {
  // Evenly between 1 and 2,047: nothing that happens at intervals stays out of sight.
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
