/** A metric at the time of its reading. */
export interface MetricReading {
  /** Name, such as `http_server_request_duration_seconds`. */
  readonly name: string;
  /** The type of the metric. */
  readonly type: "counter" | "gauge" | "histogram";
  /** Meaning of the metric, as a sentence. */
  readonly help: string;
  /** How the values of several processes are combined into one. */
  readonly combine: Combination;
  /** The series, one for each combination of label values so far. */
  readonly series: readonly SeriesReading[];
}

/** A series when it is read: a number, or the state of a histogram. */
export interface SeriesReading {
  /** Label values by label name. */
  readonly labels: Readonly<Record<string, string>>;
  /** The value, in the unit at the end of the metric's name, or a count if the name has no unit. */
  readonly value: number | HistogramReading;
}

/** The observed values of a histogram. */
export interface HistogramReading {
  /** Number of values. */
  readonly count: number;
  /** Sum of the values. */
  readonly sum: number;
  /** Number of values up to each bound, the last of which is infinity. */
  readonly buckets: readonly { readonly upTo: number; readonly count: number }[];
}

/** How the values of several processes are combined. Counters and histograms are always added. */
export type Combination = "sum" | "max" | "min";
