import type { MetricReading, SeriesReading } from "./metric_reading.ts";

/** The media type of Prometheus text. */
export const textFormatType = "text/plain; version=0.0.4; charset=utf-8";

export function writeTextFormat(readings: readonly MetricReading[]): string {
  const lines = readings.flatMap((reading) => {
    const { name, type, help } = reading;
    // A metric without series is omitted: its type without values would be of no use.
    if (reading.series.length === 0) return [];
    return [
      `# HELP ${name} ${help.replaceAll("\\", "\\\\").replaceAll("\n", "\\n")}`,
      `# TYPE ${name} ${type}`,
      ...reading.series.flatMap((series) => linesOf(name, series)),
    ];
  });
  return lines.map((line) => `${line}\n`).join("");
}

function linesOf(name: string, { labels, value }: SeriesReading): readonly string[] {
  const own = Object.entries(labels);
  if (typeof value === "number") return [`${name}${labelText(own)} ${numberText(value)}`];
  return [
    ...value.buckets.map(({ upTo, count }) =>
      `${name}_bucket${labelText([...own, ["le", numberText(upTo)]])} ${count}`
    ),
    `${name}_sum${labelText(own)} ${numberText(value.sum)}`,
    `${name}_count${labelText(own)} ${value.count}`,
  ];
}

function labelText(labels: readonly (readonly [name: string, value: string])[]): string {
  if (labels.length === 0) return "";
  return `{${labels.map(([name, value]) => `${name}="${escaped(value)}"`).join(",")}}`;
}

function escaped(value: string): string {
  return value.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n");
}

function numberText(value: number): string {
  if (value === Infinity) return "+Inf";
  return value === -Infinity ? "-Inf" : String(value);
}
