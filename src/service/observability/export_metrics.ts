import type { MetricReading, SeriesReading } from "../../metrics/metric_reading.ts";
import type { GatheringMetrics, Metrics } from "../../metrics/metrics.ts";
import type * as Api from "./open_telemetry_api.ts";

type Instrument = ReturnType<ReturnType<typeof Api.metrics.getMeter>["createObservableGauge"]>;

/** Exports metrics by the registered SDK of OpenTelemetry until the returned function is called. */
export async function exportMetrics(
  registry: Metrics | GatheringMetrics,
  { metrics }: Pick<typeof Api, "metrics">,
): Promise<() => void> {
  // The collector adds the metrics of all workers, so each worker exports only its own.
  const own = "own" in registry ? registry.own : registry;
  const meter = metrics.getMeter("resource-api");
  const instruments = new Map<string, Instrument>();
  let registered: Instrument[] = [];
  addInstruments(await own.snapshot());
  return () => meter.removeBatchObservableCallback(report, registered);

  async function report(
    result: Parameters<Parameters<typeof meter.addBatchObservableCallback>[0]>[0],
  ) {
    const readings = await own.snapshot();
    for (const { name, labels, value } of readings.flatMap(pointsOf)) {
      const instrument = instruments.get(name);
      if (instrument !== undefined) result.observe(instrument, value, labels);
    }
    addInstruments(readings);
  }

  function addInstruments(readings: readonly MetricReading[]): void {
    const known = instruments.size;
    for (const { name, isCounter, help } of readings.flatMap(pointsOf)) {
      if (instruments.has(name)) continue;
      const options = { description: help };
      instruments.set(
        name,
        isCounter
          ? meter.createObservableCounter(name, options)
          : meter.createObservableGauge(name, options),
      );
    }
    if (instruments.size === known) return;
    meter.removeBatchObservableCallback(report, registered);
    registered = [...instruments.values()];
    meter.addBatchObservableCallback(report, registered);
  }
}

interface Point {
  readonly name: string;
  readonly help: string;
  readonly isCounter: boolean;
  readonly labels: SeriesReading["labels"];
  readonly value: number;
}

function pointsOf({ name, type, help, series }: MetricReading): readonly Point[] {
  return series.flatMap(({ labels, value }) => {
    const point = { help, labels, isCounter: type !== "gauge" };
    if (typeof value === "number") return { ...point, name, value };
    return [
      { ...point, name: `${name}_count`, value: value.count },
      { ...point, name: `${name}_sum`, value: value.sum },
    ];
  });
}
