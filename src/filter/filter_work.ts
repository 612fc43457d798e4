import type { Comparison, Filter } from "./filter.ts";

/**
 * The work of a filter: about how many steps it takes for each character of the strings that it
 * compares. A comparison that does not search a string counts nothing.
 */
export function filterWork(filter: Filter): number {
  switch (filter.kind) {
    case "and":
    case "or":
      return filter.terms.reduce((sum, term) => sum + filterWork(term), 0);
    case "related":
      return filterWork(filter.filter) + filterWork(filter.links);
    case "compare":
      return comparisonWork(filter);
    default:
      return 0;
  }
}

/** The work of one comparison of a filter. */
export function comparisonWork({ operator, values }: Comparison): number {
  return operator.work?.(values) ?? 0;
}

/** Allows the work of filters in memory, a comparison with a string at a time. */
export interface WorkAllowance {
  /** Returns true if so many steps may be taken now; they are counted. */
  take(steps: number): boolean;
}

/** The work of filters in memory without a limit. */
export const anyWork: WorkAllowance = Object.freeze({ take: () => true });
