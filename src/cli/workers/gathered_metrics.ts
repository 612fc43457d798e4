import type { MetricReading } from "../../metrics/metric_reading.ts";
import { createMetrics, type GatheringMetrics, type Metrics } from "../../metrics/metrics.ts";
import { writeTextFormat } from "../../metrics/text_format.ts";
import type { ServeConfig } from "../../app/serve.ts";
import { packReadings, unpackReadings } from "./packed_readings.ts";
import type { MetricsOrder, ReadingsReport } from "./worker_process.ts";

/** Lets each worker read the metrics of all workers, with the help of the supervisor. */
export class GatheredMetrics {
  readonly #report: (report: ReadingsReport) => Promise<void>;
  readonly #questions = new Map<number, (readings: readonly MetricReading[]) => void>();
  #asked = 0;
  /** The metrics of this process, which remain when the app is opened again. */
  #own: Metrics | null = null;

  constructor(report: (report: ReadingsReport) => Promise<void>) {
    this.#report = report;
  }

  /** Returns the configuration with a registry that reads the metrics of all workers. */
  configured<Config extends Pick<ServeConfig, "observability">>(config: Config): Config {
    const { observability = false } = config;
    const options = observability === true ? {} : observability;
    if (options === false || options.metrics === false) return config;
    const given = typeof options.metrics === "object" ? options.metrics : {};
    const own = this.#own ??= given.registry ?? createMetrics();
    const registry: GatheringMetrics = {
      ...own,
      own,
      snapshot: () => this.#gather(own),
      text: async () => writeTextFormat(await this.#gather(own)),
    };
    return { ...config, observability: { ...options, metrics: { ...given, registry } } };
  }

  obey(order: MetricsOrder): void {
    if (order.kind === "measure") void this.#send(order.order);
    else {
      this.#questions.get(order.question)?.(unpackReadings(order.readings));
      this.#questions.delete(order.question);
    }
  }

  async end(): Promise<void> {
    await this.#send(null);
  }

  async #send(order: number | null): Promise<void> {
    if (this.#own === null) return;
    const readings = packReadings(await this.#own.snapshot());
    await this.#report({ kind: "readings", order, question: null, readings });
  }

  async #gather(own: Metrics): Promise<readonly MetricReading[]> {
    const readings = packReadings(await own.snapshot());
    const question = ++this.#asked;
    const { promise, resolve } = Promise.withResolvers<readonly MetricReading[]>();
    this.#questions.set(question, resolve);
    await this.#report({ kind: "readings", order: null, question, readings });
    return await promise;
  }
}
