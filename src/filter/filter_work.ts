import { type Comparison, type Filter, termsOnSameRow } from "./filter.ts";

/** Estimates a filter's steps for each character of a string: 0 without a string search. */
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

/** Estimates the steps of a comparison for each character of the compared string. */
export function comparisonWork({ operator, values }: Comparison): number {
  return operator.work?.(values) ?? 0;
}

/** Limits the work of filters in memory. Each comparison with a string calls `take` first. */
export interface WorkAllowance {
  /** Returns true if this number of steps is allowed now. Counts the allowed steps. */
  take(steps: number): boolean;
}

/** The allowance that does not limit the work of filters in memory. */
export const unlimitedWork: WorkAllowance = Object.freeze({ take: () => true });
