import { combineReadings, lastingReadings } from "../../metrics/combine_readings.ts";
import type { MetricReading } from "../../metrics/metric_reading.ts";
import { type Clock, deadline } from "../../runtime/runtime.ts";
import { packReadings, unpackReadings } from "./packed_readings.ts";
import type { ReadingsReport, WorkerProcess } from "./worker_process.ts";

type MeasuredWorker = Pick<WorkerProcess, "send">;

/** Sums the metrics of all workers, also of ended ones, without which the sums would decrease. */
export class MetricsGatherer {
  readonly #clock: Clock;
  readonly #last = new Map<MeasuredWorker, readonly MetricReading[]>();
  readonly #waiting = new Map<number, () => void>();
  #ended: readonly MetricReading[] = [];
  #orders = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  add(worker: MeasuredWorker): void {
    if (!this.#last.has(worker)) this.#last.set(worker, []);
  }

  remove(worker: MeasuredWorker): void {
    const last = lastingReadings(this.#last.get(worker) ?? []);
    this.#ended = combineReadings([this.#ended, last]);
    this.#last.delete(worker);
  }

  /** Stores the readings of a worker. If the worker asks, sends it the readings of all workers. */
  take(worker: MeasuredWorker, { order, question, readings }: ReadingsReport): void {
    this.#last.set(worker, unpackReadings(readings));
    if (order !== null) this.#waiting.get(order)?.();
    if (question !== null) void this.#answer(worker, question);
  }

  async #answer(asker: MeasuredWorker, question: number): Promise<void> {
    const others = [...this.#last.keys()].filter((worker) => worker !== asker);
    await Promise.all(others.map((worker) => this.#measure(worker)));
    const readings = packReadings(combineReadings([...this.#last.values(), this.#ended]));
    asker.send({ kind: "gathered", question, readings });
  }

  /** Asks a worker for its readings. If it does not respond in time, its last readings remain. */
  async #measure(worker: MeasuredWorker): Promise<void> {
    const order = ++this.#orders;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#waiting.set(order, resolve);
    worker.send({ kind: "measure", order });
    await deadline(waitMs, this.#clock, () => new Error("late")).within(promise).catch(() => {});
    this.#waiting.delete(order);
  }
}

/** How long to wait for the readings of a worker, in ms. A worker waits less for its database. */
const waitMs = 2_000;
