import { type Comparison, directTerms, type Filter } from "./filter.ts";

/**
 * Returns the approximate number of steps of a filter for each character of the compared strings. A
 * comparison that does not search a string counts 0.
 */
export function filterWork(filter: Filter): number {
  switch (filter.kind) {
    case "related":
      return filterWork(filter.filter) + filterWork(filter.links);
    case "compare":
      return comparisonWork(filter);
    default:
      return directTerms(filter).reduce((sum, term) => sum + filterWork(term), 0);
  }
}

/** Returns the approximate number of steps of a comparison for each character of the string. */
export function comparisonWork({ operator, values }: Comparison): number {
  return operator.work?.(values) ?? 0;
}

/** Limits the work of filters in memory, one comparison of a string at a time. */
export interface WorkAllowance {
  /** Returns true if this number of steps is allowed now. If so, the steps are counted. */
  take(steps: number): boolean;
}

/** The allowance without a limit for the work of filters in memory. */
export const unlimitedWork: WorkAllowance = Object.freeze({ take: () => true });
