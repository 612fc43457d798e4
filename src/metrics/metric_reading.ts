/** A metric as it was read. */
export interface MetricReading {
  readonly name: string;
  readonly type: "counter" | "gauge" | "histogram";
  readonly help: string;
  readonly series: readonly SeriesReading[];
}

/** One series of a metric as it was read: a number, or what a histogram has observed. */
export interface SeriesReading {
  readonly labels: Readonly<Record<string, string>>;
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
