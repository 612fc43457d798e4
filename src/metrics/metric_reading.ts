/** A metric as it was read. */
export interface MetricReading {
  /** As `http_server_request_duration_seconds`. */
  readonly name: string;
  /** What its series are. */
  readonly type: "counter" | "gauge" | "histogram";
  /** What it counts or shows, in a sentence. */
  readonly help: string;
  /** One for each set of label values that was observed. */
  readonly series: readonly SeriesReading[];
}

/** One series of a metric as it was read: a number, or what a histogram has observed. */
export interface SeriesReading {
  /** Its label values by their names. */
  readonly labels: Readonly<Record<string, string>>;
  /** In the unit that the name ends with; a count without one. */
  readonly value: number | HistogramReading;
}

/** What a histogram has observed. */
export interface HistogramReading {
  /** How many values. */
  readonly count: number;
  /** Their sum. */
  readonly sum: number;
  /** For each bound, the last one infinity, how many values are not above it. */
  readonly buckets: readonly { readonly upTo: number; readonly count: number }[];
}
