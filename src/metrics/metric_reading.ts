/** A metric at the time of its reading. */
export interface MetricReading {
  /** Name, such as `http_server_request_duration_seconds`. */
  readonly name: string;
  /** Type of the series. */
  readonly type: "counter" | "gauge" | "histogram";
  /** Meaning of the metric, as a sentence. */
  readonly help: string;
  /** One series for each set of label values that has occurred. */
  readonly series: readonly SeriesReading[];
}

/** One series of a metric at the time of its reading: a number, or the state of a histogram. */
export interface SeriesReading {
  /** Label values by label name. */
  readonly labels: Readonly<Record<string, string>>;
  /** Value in the unit at the end of the metric's name; without a unit, a count. */
  readonly value: number | HistogramReading;
}

/** The values that a histogram has counted. */
export interface HistogramReading {
  /** Number of values. */
  readonly count: number;
  /** Sum of the values. */
  readonly sum: number;
  /** Number of values up to each bound; the last bound is infinity. */
  readonly buckets: readonly { readonly upTo: number; readonly count: number }[];
}
