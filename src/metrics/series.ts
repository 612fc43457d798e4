import type { HistogramReading } from "./metric_reading.ts";

/** A counter for one set of label values: it only increases. */
export class Counter {
  #value = 0;

  /** The current count. */
  get value(): number {
    return this.#value;
  }

  /** Adds `count`. Throws for a negative number. */
  add(count = 1): void {
    if (!(count >= 0)) throw new RangeError(`Cannot count ${count}: a counter only grows`);
    this.#value += count;
  }

  /** Sets the value of a counter that is kept elsewhere. Smaller values are ignored. */
  raiseTo(total: number): void {
    if (total > this.#value) this.#value = total;
  }

  /** Returns a function that takes a running total, and adds its growth to this counter. */
  follow(): (total: number) => void {
    let last = 0;
    return (total) => {
      if (total > last) this.add(total - last);
      last = total;
    };
  }
}

/** A gauge for one set of label values: it increases and decreases. */
export class Gauge {
  #value = 0;
  readonly #shares = new Set<GaugeShare>();

  /** The current value with all shares. */
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

  /** Adds a share, for one of several sources whose sum this gauge shows. */
  share(): GaugeShare {
    const share: GaugeShare = { value: 0, end: () => void this.#shares.delete(share) };
    this.#shares.add(share);
    return share;
  }
}

/** The share of one of several sources in a gauge. */
export interface GaugeShare {
  /** The value of the share, initially 0. While a share is NaN (unknown), the gauge is NaN. */
  value: number;
  /** Removes the share. */
  end(): void;
}

/** A histogram for one set of label values. */
export class Histogram {
  readonly #bounds: readonly number[];
  /** Number of counted values in each single bucket; the last bucket has no bound. */
  readonly #counts: number[];
  #sum = 0;

  /** `bounds` are the upper bounds of the buckets, ascending, without infinity. */
  constructor(bounds: readonly number[]) {
    this.#bounds = bounds;
    this.#counts = Array.from({ length: bounds.length + 1 }, () => 0);
  }

  /** Counts a value in the first bucket whose bound is not smaller. */
  observe(value: number): void {
    let index = 0;
    // A missing bound ends the search like infinity.
    while (value > (this.#bounds[index] ?? Infinity)) index++;
    this.#counts[index] = (this.#counts[index] ?? 0) + 1;
    this.#sum += value;
  }

  /** Returns the counts of the values, in cumulative buckets as in Prometheus. */
  read(): HistogramReading {
    let count = 0;
    const buckets = this.#counts.map((own, index) => {
      count += own;
      return { upTo: this.#bounds[index] ?? Infinity, count };
    });
    return { count, sum: this.#sum, buckets };
  }
}
