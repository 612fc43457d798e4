import { type Comparison, type Filter, termsOnSameRow } from "./filter.ts";

/** Returns about the number of steps for each character of strings. Without a search, it is 0. */
export function filterWork(filter: Filter): number {
  switch (filter.kind) {
    case "related":
      return filterWork(filter.filter) + filterWork(filter.links);
    case "compare":
      return comparisonWork(filter);
    default:
      return termsOnSameRow(filter).reduce((sum, term) => sum + filterWork(term), 0);
  }
}

/** Returns about how many steps a comparison takes for each character of the string. */
export function comparisonWork({ operator, values }: Comparison): number {
  return operator.work?.(values) ?? 0;
}

/** Limits the work of filters in memory. It is asked before each comparison with a string. */
export interface WorkAllowance {
  /** Returns true if so many steps are allowed now, and counts them. */
  take(steps: number): boolean;
}

/** The allowance that does not limit the work of filters in memory. */
export const unlimitedWork: WorkAllowance = Object.freeze({ take: () => true });
