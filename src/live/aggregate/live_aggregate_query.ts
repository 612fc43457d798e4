import type { AggregateGroup } from "../../db/aggregate_groups.ts";
import type { AggregateColumns } from "../../plan/aggregate_columns.ts";
import type { AggregatePlan } from "../../plan/plan.ts";

/** The aggregate of a live stream: the groups and metrics to compute, and their presentation. */
export interface LiveAggregateQuery {
  /** Queries of one resource with the same key have the same result and share the work. */
  readonly key: string;
  /** The plan without its filter. The live query contains the filter. */
  readonly plan: Omit<AggregatePlan, "where">;
  /** The columns and metrics that the resource offers. */
  readonly groups: AggregateColumns;
  /** Converts the groups of the plan to the data of an event. */
  present(groups: readonly AggregateGroup[]): Readonly<Record<string, unknown>>;
}
