import type { Combination, HistogramReading, MetricReading } from "./metric_reading.ts";
import { writeTextFormat } from "./text_format.ts";

/**
 * The metrics of a process: counters, gauges and histograms, which can be read as Prometheus text.
 * The metrics of an app are `app.metrics`. The option `observability: { metrics: { registry } }`
 * makes an app use metrics that were created before.
 */
export interface Metrics {
  /**
   * Returns the counter with this name. Creates the counter at the first call. Throws a plain Error
   * for a name or label that Prometheus forbids, or if the metric has another type or other labels.
   */
  counter(name: string, options: MetricOptions): MetricFamily<Counter>;
  /** Returns the gauge with this name. Creates and throws as {@link counter} does. */
  gauge(name: string, options: MetricOptions): MetricFamily<Gauge>;
  /** Returns the histogram with this name. Creates and throws as {@link counter} does. */
  histogram(name: string, options: HistogramOptions): MetricFamily<Histogram>;
  /**
   * Calls `update` before each reading, for values that are measured only then. The reading waits
   * for `update`, and rejects if `update` rejects. Call the returned function to remove `update`.
   */
  onRead(update: () => void | Promise<void>): () => void;
  /** Reads all metrics. */
  snapshot(): Promise<readonly MetricReading[]>;
  /** Reads all metrics as Prometheus text, version 0.0.4. */
  text(): Promise<string>;
}

export interface GatheringMetrics extends Metrics {
  /** The metrics of this process alone. */
  readonly own: Metrics;
}

/** The options of a metric. */
export interface MetricOptions {
  /** Meaning of the metric, as a sentence. */
  readonly help: string;
  /** Names of the labels of the metric. Default: none. */
  readonly labels?: readonly string[] | undefined;
  /** How the gauges of several workers are combined into one value. Default: `sum`. */
  readonly combine?: Combination | undefined;
}

/** The options for a histogram. */
export interface HistogramOptions extends MetricOptions {
  /** Upper bounds of the buckets, ascending. Default: bounds for durations from 1 ms to 10 s. */
  readonly buckets?: readonly number[] | undefined;
}

/** A metric and its series. */
export interface MetricFamily<Series> {
  /**
   * Returns the series with these label values. `values` has the order of the labels. A series is
   * created at its first use and never removed. Throws a plain Error for a wrong number of values.
   */
  series(...values: readonly string[]): Series;
}

/**
 * Creates an empty collection of metrics.
 *
 * @example
 * ```ts
 * import { createMetrics } from "@svc/resource-api/observability";
 *
 * const metrics = createMetrics();
 * const mails = metrics.counter("mails_sent_total", { help: "Mails sent.", labels: ["kind"] });
 * const invitations = mails.series("invitation");
 * invitations.add();
 * console.log(await metrics.text()); // … mails_sent_total{kind="invitation"} 1
 * ```
 */
export function createMetrics(): Metrics {
  const families = new Map<string, Family>();
  const updates = new Set<() => void | Promise<void>>();

  function family<Series extends AnySeries>(
    type: MetricReading["type"],
    name: string,
    options: MetricOptions,
    make: () => Series,
  ): MetricFamily<Series> {
    const { help, labels = [], combine = "sum" } = options;
    const known = families.get(name);
    if (known === undefined) {
      const made = newFamily({ type, name, help, labels, combine }, make);
      families.set(name, made);
      return made;
    }
    if (known.type !== type || known.labels.join() !== labels.join()) {
      throw new Error(
        `Cannot make the ${type} ${name}: it is a ${known.type} with the labels ` +
          `[${known.labels.join(", ")}]`,
      );
    }
    // The cast is safe: a metric's type, compared above, determines the type of its series.
    return known as Family & MetricFamily<Series>;
  }

  async function snapshot(): Promise<readonly MetricReading[]> {
    await Promise.all([...updates].map((update) => update()));
    return [...families.values()].map((one) => one.read());
  }

  return {
    counter: (name, options) => family("counter", name, options, () => new Counter()),
    gauge: (name, options) => family("gauge", name, options, () => new Gauge()),
    histogram(name, options) {
      const { buckets = durationBuckets } = options;
      if (!isAscending(buckets)) {
        throw new Error(`Cannot make the histogram ${name}: its buckets must be finite and ascend`);
      }
      return family("histogram", name, options, () => new Histogram(buckets));
    },
    onRead(update) {
      // Each call adds its own function, so that the same `update` can be added twice.
      const entry = () => update();
      updates.add(entry);
      return () => void updates.delete(entry);
    },
    snapshot,
    text: async () => writeTextFormat(await snapshot()),
  };
}

/** Bounds in seconds: the bounds that OpenTelemetry recommends, and two lower bounds. */
const durationBuckets: readonly number[] = Object.freeze(
  [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10],
);

type AnySeries = Counter | Gauge | Histogram;

interface FamilyFacts {
  readonly type: MetricReading["type"];
  readonly name: string;
  readonly help: string;
  readonly labels: readonly string[];
  readonly combine: Combination;
}

interface Family extends FamilyFacts {
  read(): MetricReading;
}

function newFamily<Series extends AnySeries>(
  facts: FamilyFacts,
  make: () => Series,
): Family & MetricFamily<Series> {
  const { type, name, help, labels, combine } = facts;
  requireNames(facts);
  const made = new Map<string, { readonly values: readonly string[]; readonly series: Series }>();
  return {
    ...facts,
    series(...values) {
      if (values.length !== labels.length) {
        throw new Error(
          `Cannot give a series of ${name}: it has ${labels.length} labels, not ${values.length}`,
        );
      }
      const key = values.join("\0");
      const known = made.get(key)?.series;
      if (known !== undefined) return known;
      const series = make();
      made.set(key, { values, series });
      return series;
    },
    read: () => ({
      ...{ name, type, help, combine },
      series: [...made.values()].map(({ values, series }) => ({
        labels: Object.fromEntries(labels.map((label, index) => [label, values[index] ?? ""])),
        value: series instanceof Histogram ? series.read() : series.value,
      })),
    }),
  };
}

function requireNames({ type, name, labels }: FamilyFacts): void {
  if (!/^[a-zA-Z_:][\w:]*$/.test(name)) {
    throw new Error(
      `Cannot make the ${type} ${JSON.stringify(name)}: Prometheus takes no such name`,
    );
  }
  const wrong = labels.find((label) => !/^(?!__|le$|quantile$)[a-zA-Z_]\w*$/.test(label));
  if (wrong !== undefined || new Set(labels).size < labels.length) {
    throw new Error(
      `Cannot make the ${type} ${name}: Prometheus does not take the labels [${labels.join(", ")}]`,
    );
  }
}

function isAscending(bounds: readonly number[]): boolean {
  return bounds.every((bound, index) =>
    Number.isFinite(bound) && bound > (bounds[index - 1] ?? -Infinity)
  );
}

/** A counter with certain label values. It only increases. */
export class Counter {
  #value = 0;

  /** The count so far. */
  get value(): number {
    return this.#value;
  }

  /** Adds `count`. Throws for a negative number. */
  add(count = 1): void {
    if (!(count >= 0)) throw new RangeError(`Cannot count ${count}: a counter only grows`);
    this.#value += count;
  }

  /** Raises the count to a total that is counted elsewhere. Ignores a smaller total. */
  raiseTo(total: number): void {
    if (total > this.#value) this.#value = total;
  }

  /** Returns a function that receives a growing total, and adds the growth to this counter. */
  follow(): (total: number) => void {
    let last = 0;
    return (total) => {
      if (total > last) this.add(total - last);
      last = total;
    };
  }
}

/** A gauge with certain label values. It increases and decreases. */
export class Gauge {
  #value = 0;
  readonly #shares = new Set<GaugeShare>();

  /** The value including all shares. */
  get value(): number {
    let sum = this.#value;
    for (const share of this.#shares) sum += share.value;
    return sum;
  }

  /** Sets the value. */
  set(value: number): void {
    this.#value = value;
  }

  /** Adds `change`, which may be negative. */
  add(change: number): void {
    this.#value += change;
  }

  /** Adds a share for one source of values. The gauge shows the sum of all shares. */
  share(): GaugeShare {
    const share: GaugeShare = { value: 0, end: () => void this.#shares.delete(share) };
    this.#shares.add(share);
    return share;
  }
}

/** The part of a gauge's value that one source sets. */
export interface GaugeShare {
  /** The value, at first 0. If a share is NaN (unknown), the gauge is NaN, too. */
  value: number;
  /** Removes the share. */
  end(): void;
}

/** A histogram with certain label values. */
export class Histogram {
  readonly #bounds: readonly number[];
  /** Number of values in each bucket, not cumulative. The last bucket has no bound. */
  readonly #counts: number[];
  #sum = 0;

  /** `bounds` are the upper bounds of the buckets in ascending order, without infinity. */
  constructor(bounds: readonly number[]) {
    this.#bounds = bounds;
    this.#counts = Array.from({ length: bounds.length + 1 }, () => 0);
  }

  /** Counts a value in the first bucket whose upper bound is at least the value. */
  observe(value: number): void {
    let index = 0;
    while (value > (this.#bounds[index] ?? Infinity)) index++;
    this.#counts[index] = (this.#counts[index] ?? 0) + 1;
    this.#sum += value;
  }

  /** Returns the counts in cumulative buckets, as Prometheus needs them. */
  read(): HistogramReading {
    let count = 0;
    const buckets = this.#counts.map((own, index) => {
      count += own;
      return { upTo: this.#bounds[index] ?? Infinity, count };
    });
    return { count, sum: this.#sum, buckets };
  }
}
