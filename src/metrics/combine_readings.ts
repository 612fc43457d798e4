import type { HistogramReading, MetricReading, SeriesReading } from "./metric_reading.ts";

export function combineReadings(
  processes: readonly (readonly MetricReading[])[],
): readonly MetricReading[] {
  const metrics = new Map<string, MetricReading>();
  for (const reading of processes.flat()) {
    const known = metrics.get(reading.name);
    metrics.set(reading.name, known === undefined ? reading : combineMetric(known, reading));
  }
  return [...metrics.values()];
}

/** Returns the counters and histograms: their counts stay valid after their process has ended. */
export function lastingReadings(readings: readonly MetricReading[]): readonly MetricReading[] {
  return readings.filter(({ type }) => type !== "gauge");
}

function combineMetric(first: MetricReading, second: MetricReading): MetricReading {
  const series = new Map<string, SeriesReading>();
  for (const one of [...first.series, ...second.series]) {
    const key = JSON.stringify(Object.entries(one.labels));
    const known = series.get(key);
    const value = known === undefined ? one.value : combineValues(known.value, one.value, first);
    series.set(key, { labels: one.labels, value });
  }
  return { ...first, series: [...series.values()] };
}

type Value = SeriesReading["value"];

function combineValues(first: Value, second: Value, { combine }: MetricReading): Value {
  if (typeof first !== "number") return typeof second === "number" ? first : add(first, second);
  if (typeof second !== "number") return first;
  if (combine === "sum") return first + second;
  // NaN means that one process could not read a value that the other process has read.
  if (Number.isNaN(first) || Number.isNaN(second)) return Number.isNaN(first) ? second : first;
  return Math[combine](first, second);
}

function add(first: HistogramReading, second: HistogramReading): HistogramReading {
  return {
    count: first.count + second.count,
    sum: first.sum + second.sum,
    buckets: first.buckets.map(({ upTo, count }, index) => ({
      upTo,
      count: count + (second.buckets[index]?.count ?? 0),
    })),
  };
}
