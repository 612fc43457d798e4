import type { Counter, Gauge, GaugeShare, MetricFamily, Metrics } from "./metrics.ts";

/**
 * The part of one source in metrics that several sources report. It changes no other parts, and
 * leaves nothing in gauges when it ends.
 */
export class MetricsShare {
  readonly #metrics: Metrics;
  readonly #ends: (() => void)[] = [];

  constructor(metrics: Metrics) {
    this.#metrics = metrics;
  }

  gauge(family: MetricFamily<Gauge>, ...labels: readonly string[]): GaugeShare {
    const share = family.series(...labels).share();
    this.#ends.push(share.end);
    return share;
  }

  /** Returns a function that receives a growing total, and adds the growth to a counter. */
  counter(family: MetricFamily<Counter>, ...labels: readonly string[]): (total: number) => void {
    return family.series(...labels).follow();
  }

  /** Calls `update` before each reading of the metrics, until {@link end} is called. */
  onRead(update: () => void | Promise<void>): void {
    this.#ends.push(this.#metrics.onRead(update));
  }

  /** Removes this part from gauges, and ends the calls of `update`. */
  end(): void {
    for (const end of this.#ends) end();
  }
}
