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

/**
 * @internal The types of a field's metrics. `Value` is the type of the field. The service returns a
 * number as a string if a double cannot represent it, so the sum of integers can be a string. An
 * average of integers is a number.
 */
export interface MetricResults<Value> {
  /** The type of a sum. */
  total: Value extends number ? number | string : string;
  /** The type of an average. */
  average: Value extends number ? number : number | string;
  /** The type of a minimum or maximum. */
  value: Value;
}

/** @internal The metrics that an item of `include` requests, such as `sum:a,b`, or `never`. */
export type MetricsIn<Item> = Item extends `${infer Path}(${infer Options}`
  ? Path extends `${string}.${string}` ? never
  : Options extends `${string}include:${string}` ? never
  : Extract<Parts<Options, ";" | ")">, `${"count" | "sum" | "avg" | "min" | "max"}:${string}`>
  : never;

/** @internal The parts of a string between separators. */
export type Parts<Text, Separator extends string> = Text extends
  `${infer Part}${Separator}${infer Rest}` ? Part | Parts<Rest, Separator> : Text;

/** @internal The fields of a metric in the options of an item: `a` and `b` in `sum:a,b`. */
export type FieldsIn<Options, Metric extends string> = Options extends `${Metric}:${infer Fields}`
  ? Parts<Fields, ",">
  : never;

/** @internal The metrics of related rows, as the options of an item of `include` request them. */
export type IncludedMetrics<Row, Options> =
  & CountOfGroup<
    "count:true" extends Options ? true : never,
    FieldsIn<Options, "sum" | "avg" | "min" | "max">
  >
  & MetricOfGroup<"sum", FieldsIn<Options, "sum">, Row, "total">
  & MetricOfGroup<"avg", FieldsIn<Options, "avg">, Row, "average">
  & MetricOfGroup<"min", FieldsIn<Options, "min">, Row, "value">
  & MetricOfGroup<"max", FieldsIn<Options, "max">, Row, "value">;
