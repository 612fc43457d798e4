import type { AggregateGroup } from "../../db/aggregate_groups.ts";
import type { AggregateColumns } from "../../plan/aggregate_columns.ts";
import type { AggregatePlan } from "../../plan/plan.ts";

/** The aggregate of a live stream: its plan, its columns, and the form of its events. */
export interface LiveAggregateQuery {
  /** A cache key: queries of one resource with equal keys have equal results and share the work. */
  readonly key: string;
  /** The plan without its filter, because {@link LiveQuery} contains the filter. */
  readonly plan: Omit<AggregatePlan, "where">;
  /** All columns by which the resource can group, and all metrics that it can compute. */
  readonly groups: AggregateColumns;
  /** Converts the groups of the plan to the data of an event. */
  present(groups: readonly AggregateGroup[]): Readonly<Record<string, unknown>>;
}
