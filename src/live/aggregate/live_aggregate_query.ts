import type { AggregateGroup } from "../../db/aggregate_groups.ts";
import type { AggregateSchema } from "../../plan/aggregate_schema.ts";
import type { AggregatePlan } from "../../plan/plan.ts";

/** What somebody wants to know about groups of rows; handed in by the resource. */
export interface LiveAggregateQuery {
  /** Questions of one resource with the same key ask for the same, so that they share the work. */
  readonly key: string;
  /** But for which rows: these are the interest's. */
  readonly plan: Omit<AggregatePlan, "where">;
  /** What could have been asked. */
  readonly groups: AggregateSchema;
  /** The groups of the plan → the data of an event. */
  present(groups: readonly AggregateGroup[]): Readonly<Record<string, unknown>>;
}
