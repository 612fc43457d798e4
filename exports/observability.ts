/**
 * Metrics: the metrics of an app, and custom metrics of a program.
 *
 * @module
 */
export {
  createMetrics,
  type HistogramOptions,
  type MetricFamily,
  type MetricOptions,
  type Metrics,
} from "../src/metrics/metrics.ts";
export type {
  Combination,
  HistogramReading,
  MetricReading,
  SeriesReading,
} from "../src/metrics/metric_reading.ts";
export type { Counter, Gauge, GaugeShare, Histogram } from "../src/metrics/metrics.ts";
export { textFormatType } from "../src/metrics/text_format.ts";
export type {
  AuthorizeMetrics,
  MetricsOptions,
  ObservabilityOptions,
} from "../src/service/observability/observability_options.ts";
