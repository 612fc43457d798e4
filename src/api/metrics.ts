import type { Parts, Trim } from "./filter_text.ts";
import type { OptionsIn } from "./include_text.ts";

/** @internal The member `count` of a group. Present if requested, or if no metric was requested. */
export type CountOfGroup<Count, Metrics> = [Count] extends [never]
  ? [Metrics] extends [never] ? { count: number } : unknown
  : [Count] extends [true] ? { count: number }
  : [Count] extends [false] ? unknown
  : { count?: number };

/** @internal The member of a group for one metric, such as `sum`, with a result for each field. */
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

/** @internal Metrics of a field of type `Value`. A number too precise for a double is a string. */
export interface MetricResults<Value> {
  total: Value extends number ? number | string : string;
  average: Value extends number ? number : number | string;
  value: Value;
}

/** @internal The metrics that an item of `include` requests, such as `sum:a,b`, or `never`. */
export type MetricsIn<Item> = Extract<
  OptionsIn<Item>,
  `${"count" | "sum" | "avg" | "min" | "max"}:${string}`
>;

/** @internal The fields of a metric in the options of an item: `a` and `b` in `sum:a,b`. */
export type FieldsIn<Options, Metric extends string> = Options extends `${Metric}:${infer Fields}`
  ? Trim<Parts<Fields, ",">>
  : never;

/** @internal The metrics of related rows, as the options of an item of `include` request them. */
export type IncludedMetrics<Row, Options> = Flat<
  & CountOfGroup<
    "count:true" extends Options ? true : never,
    FieldsIn<Options, "sum" | "avg" | "min" | "max">
  >
  & MetricOfGroup<"sum", FieldsIn<Options, "sum">, Row, "total">
  & MetricOfGroup<"avg", FieldsIn<Options, "avg">, Row, "average">
  & MetricOfGroup<"min", FieldsIn<Options, "min">, Row, "value">
  & MetricOfGroup<"max", FieldsIn<Options, "max">, Row, "value">
>;

/** @internal One object type instead of an intersection, so that editors show its members. */
export type Flat<Parts> = Parts extends infer All ? { [Name in keyof All]: All[Name] } : never;
