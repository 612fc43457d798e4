import type { CountOfGroup, Flat, MetricOfGroup } from "./metrics.ts";
import type { FilterInput, FilterOf } from "./checked_text.ts";
import type { ListNotString, OrderInput } from "./read_options.ts";
import type { ApiResource, FieldOf, SelectedRow } from "./rows.ts";

/** The options of an aggregate, which computes metrics of each group of rows, or of all rows. */
export interface AggregateOptions<
  R extends ApiResource,
  Key extends FieldOf<R> = FieldOf<R>,
  Count extends boolean = boolean,
  Sum extends NumericOf<R> = NumericOf<R>,
  Avg extends NumericOf<R> = NumericOf<R>,
  Min extends FieldOf<R> = FieldOf<R>,
  Max extends FieldOf<R> = FieldOf<R>,
  Filter extends FilterInput = FilterInput,
> {
  /** The filter of the rows to aggregate. Default: all rows. */
  readonly filter?: FilterOf<R, Filter> | undefined;
  /** The fields by which rows are grouped. Default: all rows are one group. */
  readonly groupBy?: ListNotString<Key> | undefined;
  /** True to count the rows of each group. Default: true if no other metric is requested. */
  readonly count?: Count | undefined;
  /** The fields whose sums are computed. */
  readonly sum?: ListNotString<Sum> | undefined;
  /** The fields whose averages are computed. */
  readonly avg?: ListNotString<Avg> | undefined;
  /** The fields whose minimum values are computed. */
  readonly min?: ListNotString<Min> | undefined;
  /** The fields whose maximum values are computed. */
  readonly max?: ListNotString<Max> | undefined;
  /** The groups to return: a filter on their keys and metrics, such as `count` or `sum_price`. */
  readonly having?: FilterInput | undefined;
  /** The keys and metrics that order the groups. `-` means descending, as in `-count`. */
  readonly orderBy?: ListNotString<OrderInput<GroupFieldOf<R, NoInfer<Key>>>> | undefined;
  /** The maximum number of groups. Default: 1000. */
  readonly limit?: number | undefined;
}

/** The fields that `sum` and `avg` accept: those in `R`'s `numeric`, or by default all fields. */
export type NumericOf<R extends ApiResource> = R extends { readonly numeric: infer Name }
  ? Extract<keyof R["row"] & string, Name>
  : FieldOf<R>;

/** The keys and metrics by which groups can be ordered. */
export type GroupFieldOf<R extends ApiResource, Key extends string> =
  | (Key | "count")
  | `${"sum" | "avg"}_${NumericOf<R>}`
  | `${"min" | "max"}_${FieldOf<R>}`;

/** The groups of an aggregate. */
export interface Groups<Group> {
  /** The groups, in the order that `orderBy` requests. Default: in the order of their keys. */
  readonly groups: Group[];
  /** True if there are more groups than `limit`. */
  readonly hasMore: boolean;
}

/** A group of an aggregate: its key and its metrics. */
export type GroupOf<R extends ApiResource, Key, Count, Sum, Avg, Min, Max> = Flat<
  & { key: [Key] extends [never] ? null : SelectedRow<R["row"], Key> }
  & CountOfGroup<Count, Sum | Avg | Min | Max>
  & MetricOfGroup<"sum", Sum, R["row"], "total">
  & MetricOfGroup<"avg", Avg, R["row"], "average">
  & MetricOfGroup<"min", Min, R["row"], "value">
  & MetricOfGroup<"max", Max, R["row"], "value">
>;
