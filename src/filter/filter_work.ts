import { type Comparison, type Filter, termsOnSameRow } from "./filter.ts";

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

export function comparisonWork({ operator, values }: Comparison): number {
  return operator.work?.(values) ?? 0;
}

/** Limits the steps of filters in memory. `take` returns false if a search needs too many. */
export interface WorkAllowance {
  take(steps: number): boolean;
}

export const unlimitedWork: WorkAllowance = Object.freeze({ take: () => true });
