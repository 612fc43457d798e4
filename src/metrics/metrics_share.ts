import type { MetricFamily, Metrics } from "./metrics.ts";
import type { Counter, Gauge, GaugeShare } from "./series.ts";

/**
 * What one of several adds to metrics that it may share with others: it neither overwrites theirs,
 * nor leaves anything in gauges once it has ended.
 */
export class MetricsShare {
  readonly #metrics: Metrics;
  readonly #ends: (() => void)[] = [];

  /** Adds nothing yet. */
  constructor(metrics: Metrics) {
    this.#metrics = metrics;
  }

  /** Its share of a gauge. */
  gauge(family: MetricFamily<Gauge>, ...labels: readonly string[]): GaugeShare {
    const share = family.series(...labels).share();
    this.#ends.push(share.end);
    return share;
  }

  /** Takes the total of what it counts, whose growth is added to a counter. */
  counter(family: MetricFamily<Counter>, ...labels: readonly string[]): (total: number) => void {
    return family.series(...labels).follow();
  }

  /** Calls `update` before each reading, until it ends. */
  onRead(update: () => void | Promise<void>): void {
    this.#ends.push(this.#metrics.onRead(update));
  }

  /** Takes its shares of gauges away, and reads nothing more. */
  end(): void {
    for (const end of this.#ends) end();
  }
}
