import type { ApiResource } from "./api.ts";
import type { FilterInput, RequestOptions } from "./read_options.ts";
import type { FieldOf, SelectedRow } from "./rows.ts";

/** The options of an aggregate over groups of rows, or over all rows as one group. */
export interface AggregateOptions<
  R extends ApiResource,
  Key extends FieldOf<R> = FieldOf<R>,
  Count extends boolean = boolean,
  Sum extends FieldOf<R> = FieldOf<R>,
  Avg extends FieldOf<R> = FieldOf<R>,
  Min extends FieldOf<R> = FieldOf<R>,
  Max extends FieldOf<R> = FieldOf<R>,
> extends RequestOptions {
  /** The rows to aggregate; all unless set. */
  readonly filter?: FilterInput | undefined;
  /** The fields by which rows are grouped; all rows are one group unless set. */
  readonly groupBy?: readonly Key[] | undefined;
  /** True to count the rows of a group; true unless another metric is requested. */
  readonly count?: Count | undefined;
  /** Fields to sum. */
  readonly sum?: readonly Sum[] | undefined;
  /** Fields to average. */
  readonly avg?: readonly Avg[] | undefined;
  /** Fields whose minimum is computed. */
  readonly min?: readonly Min[] | undefined;
  /** Fields whose maximum is computed. */
  readonly max?: readonly Max[] | undefined;
  /** A filter of the groups, by their keys and by names such as `count` and `sum_price`. */
  readonly having?: FilterInput | undefined;
  /** Keys and metrics to order by, such as `-count`. */
  readonly orderBy?: readonly string[] | undefined;
  /** The largest number of groups; 1000 unless set. */
  readonly limit?: number | undefined;
}

/** The groups of an aggregate. */
export interface Groups<Group> {
  /** The groups in the requested order, or in the order of their keys. */
  readonly groups: Group[];
  /** True if there are more groups than `limit`. */
  readonly hasMore: boolean;
}

/** A group of an aggregate: its key and its metrics. */
export type GroupOf<R extends ApiResource, Key, Count, Sum, Avg, Min, Max> =
  & { key: [Key] extends [never] ? null : SelectedRow<R["row"], Key> }
  & CountOfGroup<Count, Sum | Avg | Min | Max>
  & MetricOfGroup<"sum", Sum, R["row"], "total">
  & MetricOfGroup<"avg", Avg, R["row"], "average">
  & MetricOfGroup<"min", Min, R["row"], "value">
  & MetricOfGroup<"max", Max, R["row"], "value"> extends infer Group
  // One object in place of an intersection, as an editor shows it.
  ? { [Name in keyof Group]: Group[Name] }
  : never;

/** The number of rows of a group. It exists if it was requested, or if no other metric was. */
export type CountOfGroup<Count, Metrics> = [Count] extends [never]
  ? [Metrics] extends [never] ? { count: number } : unknown
  : [Count] extends [true] ? { count: number }
  : [Count] extends [false] ? unknown
  : { count?: number };

/** A metric of a group, for each of these fields. */
export type MetricOfGroup<
  Name extends string,
  Field,
  Row,
  Result extends "total" | "average" | "value",
> = [Field] extends [never] ? unknown : {
  [Only in Name]: {
    [Each in Field & keyof Row]: MetricResults<NonNullable<Row[Each]>>[Result] | null;
  };
};

/**
 * The types of the metrics of a value. A number with more digits than a double is a string, so the
 * sum of integers may be a string. An average of integers is a number.
 */
export interface MetricResults<Value> {
  /** A sum. */
  total: Value extends number ? number | string : string;
  /** An average. */
  average: Value extends number ? number : number | string;
  /** A minimum or maximum. */
  value: Value;
}
