import type { HistogramReading } from "./metric_reading.ts";

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

  /** Adds a share for one source. The gauge shows the sum of all shares. */
  share(): GaugeShare {
    const share: GaugeShare = { value: 0, end: () => void this.#shares.delete(share) };
    this.#shares.add(share);
    return share;
  }
}

/** The share of one source in a gauge. */
export interface GaugeShare {
  /** The value, at first 0. If it is NaN (unknown), so is the gauge. */
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

  /** Counts a value in the first bucket whose bound it does not exceed. */
  observe(value: number): void {
    let index = 0;
    // The last bucket has no bound.
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
