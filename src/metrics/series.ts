import type { HistogramReading } from "./metric_reading.ts";

/** A counter at one set of label values: it only grows. */
export class Counter {
  #value = 0;

  /** What has been counted. */
  get value(): number {
    return this.#value;
  }

  /** Counts one more, or so many. Throws for fewer than none. */
  add(count = 1): void {
    if (!(count >= 0)) throw new RangeError(`Cannot count ${count}: a counter only grows`);
    this.#value += count;
  }

  /** Takes the total of what counts by itself, and alone; a smaller one changes nothing. */
  raiseTo(total: number): void {
    if (total > this.#value) this.#value = total;
  }

  /**
   * Returns a function that takes the total of one of several that count by themselves, and adds what
   * it has grown by.
   */
  follow(): (total: number) => void {
    let last = 0;
    return (total) => {
      if (total > last) this.add(total - last);
      last = total;
    };
  }
}

/** A gauge at one set of label values: it goes up and down. */
export class Gauge {
  #value = 0;
  readonly #shares = new Set<GaugeShare>();

  /** What it shows now, with all shares. */
  get value(): number {
    let sum = this.#value;
    for (const share of this.#shares) sum += share.value;
    return sum;
  }

  /** Shows another number from now on. */
  set(value: number): void {
    this.#value = value;
  }

  /** Shows more, or less where `change` is negative. */
  add(change: number): void {
    this.#value += change;
  }

  /** Adds the share of one of several that this gauge shows together. */
  share(): GaugeShare {
    const share: GaugeShare = { value: 0, end: () => void this.#shares.delete(share) };
    this.#shares.add(share);
    return share;
  }
}

/** What one of several adds to a gauge. */
export interface GaugeShare {
  /** 0 at first. The gauge shows NaN while it is NaN, for what cannot be measured. */
  value: number;
  /** Takes it away. */
  end(): void;
}

/** A histogram at one set of label values. */
export class Histogram {
  readonly #bounds: readonly number[];
  /** How many observed values are in each bucket alone; the last one has no bound. */
  readonly #counts: number[];
  #sum = 0;

  /** `bounds` are the upper bounds of the buckets, ascending, without infinity. */
  constructor(bounds: readonly number[]) {
    this.#bounds = bounds;
    this.#counts = Array.from({ length: bounds.length + 1 }, () => 0);
  }

  /** Counts a value, which is in the first bucket whose bound is not below it. */
  observe(value: number): void {
    let index = 0;
    // A bound that is missing ends the search as infinity does.
    while (value > (this.#bounds[index] ?? Infinity)) index++;
    this.#counts[index] = (this.#counts[index] ?? 0) + 1;
    this.#sum += value;
  }

  /** What was observed: the buckets with all those below them, as Prometheus has them. */
  read(): HistogramReading {
    let count = 0;
    const buckets = this.#counts.map((own, index) => {
      count += own;
      return { upTo: this.#bounds[index] ?? Infinity, count };
    });
    return { count, sum: this.#sum, buckets };
  }
}
