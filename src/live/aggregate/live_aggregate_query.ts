import type { AggregateGroup } from "../../db/aggregate_groups.ts";
import type { AggregateSchema } from "../../plan/aggregate_schema.ts";
import type { AggregatePlan } from "../../plan/plan.ts";

/**
 * The aggregate query of a live stream, without its filter: the groups and metrics to compute, and
 * how to show them.
 */
export interface LiveAggregateQuery {
  /** Queries of one resource with the same key have the same answer, and share the work. */
  readonly key: string;
  /** Without its rows, which the live query names. */
  readonly plan: Omit<AggregatePlan, "where">;
  /** The columns and metrics that the resource offers. */
  readonly groups: AggregateSchema;
  /** The groups of the plan → the data of an event. */
  present(groups: readonly AggregateGroup[]): Readonly<Record<string, unknown>>;
}
