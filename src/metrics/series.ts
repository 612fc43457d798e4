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

  /** Takes the total of something that counts by itself; a smaller one changes nothing. */
  raiseTo(total: number): void {
    if (total > this.#value) this.#value = total;
  }
}

/** A gauge at one set of label values: it goes up and down. */
export class Gauge {
  #value = 0;

  /** What it shows now. */
  get value(): number {
    return this.#value;
  }

  /** Shows another number from now on. */
  set(value: number): void {
    this.#value = value;
  }

  /** Shows more, or less where `change` is negative. */
  add(change: number): void {
    this.#value += change;
  }
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
