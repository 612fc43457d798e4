import type { MetricReading } from "../../metrics/metric_reading.ts";

/** Marks a number for which JSON has no notation, such as NaN. No metric's label has this name. */
const packed = "$number";

export function packReadings(readings: readonly MetricReading[]): string {
  return JSON.stringify(
    readings,
    (_, value: unknown) =>
      typeof value === "number" && !Number.isFinite(value) ? { [packed]: String(value) } : value,
  );
}

export function unpackReadings(text: string): readonly MetricReading[] {
  // The cast is safe: another process of this program has packed readings.
  return JSON.parse(text, (_, value: unknown) => {
    const isPacked = typeof value === "object" && value !== null && packed in value &&
      Object.keys(value).length === 1;
    return isPacked ? Number(value[packed]) : value;
  }) as readonly MetricReading[];
}
