import type { Grant } from "../../auth/authorize.ts";
import { fetchCount, fetchEstimate } from "../../db/rows.ts";
import type { Filter } from "../../filter/filter.ts";
import type { CountPlan, EstimatePlan, ReadPlan } from "../../plan/plan.ts";
import type { TotalCountMode } from "./list_query.ts";
import type { Resource } from "../define/resource.ts";

/** How many rows there are on all pages, as an answer says it. */
export interface TotalCount {
  readonly totalCount: number;
  /** Only beside a guess. */
  readonly totalCountEstimated?: true;
}

/** How a total will be found. */
export interface TotalCountPlan {
  readonly count: CountPlan;
  /** Asked first; null where only counting will do. */
  readonly estimate: EstimatePlan | null;
}

/** Guesses only where that is asked for, possible, and tells nothing that a count would not. */
export function planTotalCount(
  where: Filter,
  wish: Exclude<TotalCountMode, "none">,
  grant: Grant,
  resource: Resource,
): TotalCountPlan {
  const { table, reader } = resource;
  const mayGuess = wish === "estimated" && reader.dialect.estimate !== null &&
    // The planner knows how often a value stands in the whole table: whoever may see only some of
    // its rows, or only some related ones, would learn about the others from its guess.
    grant.rows.kind === "all" && staysInTable(where);
  return {
    count: { kind: "count", table, where },
    estimate: mayGuess ? { kind: "estimate", table, where } : null,
  };
}

/**
 * What is expected to be fewer is counted. Postgres takes a table that it has not analysed yet for
 * ten pages, 2,260 of the smallest rows, also while it is empty.
 */
const minEstimated = 2_500;

/** `found` are the rows that `read`, the page and one more, has found. */
export async function fetchTotalCount(
  plan: TotalCountPlan,
  { read, found }: { readonly read: ReadPlan; readonly found: number },
  { driver, reader }: Resource,
): Promise<TotalCount> {
  // The first page is also the last: they are all there.
  if (read.after === null && read.limit !== null && found < read.limit) {
    return { totalCount: found };
  }
  const guess = plan.estimate === null ? null : await fetchEstimate(driver, plan.estimate, reader);
  return guess === null || guess < minEstimated
    ? { totalCount: await fetchCount(driver, plan.count, reader) }
    : { totalCount: Math.max(guess, found), totalCountEstimated: true };
}

function staysInTable(filter: Filter): boolean {
  if (filter.kind === "and" || filter.kind === "or") return filter.terms.every(staysInTable);
  return filter.kind !== "related";
}
