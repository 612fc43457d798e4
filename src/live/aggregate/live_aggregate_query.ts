import type { AggregateGroup } from "../../db/aggregate_groups.ts";
import type { GroupTable } from "../../plan/group_table.ts";
import type { AggregatePlan } from "../../plan/plan.ts";

/** What somebody wants to know about groups of rows; handed in by the resource. */
export interface LiveAggregateQuery {
  /** Questions of one resource with the same key ask for the same, so that they share the work. */
  readonly key: string;
  /** But for which rows: these are the interest's. */
  readonly plan: Omit<AggregatePlan, "where">;
  /** What could have been asked. */
  readonly groups: GroupTable;
  /** The groups of the plan → the data of an event. */
  present(groups: readonly AggregateGroup[]): Readonly<Record<string, unknown>>;
}
