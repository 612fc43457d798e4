/** A measured curve: what one operation costs as something grows, and its picture. */

/** The cost at one size, in microseconds. */
export interface Point {
  readonly size: number;
  readonly service: number;
  /** The cost of the same statements without the service. Null if there is no such statement. */
  readonly database: number | null;
}

/** A curve of one engine. */
export interface Curve {
  readonly name: string;
  /** What grows, for the axis, e.g. `rows`. */
  readonly grows: string;
  readonly engine: string;
  readonly points: readonly Point[];
}

/** Returns the cost of one call in µs: the median of several turns, each of at least 60 ms. */
export async function costOf(work: () => Promise<unknown>, turns = 5): Promise<number> {
  for (let call = 0; call < 30; call++) await work();
  const figures: number[] = [];
  for (let turn = 0; turn < turns; turn++) {
    const startedAt = performance.now();
    let calls = 0;
    do {
      await work();
      calls++;
    } while (performance.now() - startedAt < 60);
    figures.push((performance.now() - startedAt) / calls * 1_000);
  }
  return figures.toSorted((one, other) => one - other)[turns >> 1] ?? 0;
}

/**
 * Returns how much faster the cost of the service grows than that of the database, from the first
 * point to the last: 1 if both grow alike. Without a database, the growth of the service itself.
 */
export function excessGrowth({ points }: Curve): number {
  const [first, last] = [points[0], points.at(-1)];
  if (first === undefined || last === undefined) return 1;
  const growth = last.service / first.service;
  if (first.database === null || last.database === null) return growth;
  return growth / (last.database / first.database);
}

const [width, height, margin] = [360, 240, 44];
const colors: Readonly<Record<string, string>> = { sqlite: "#0f766e", postgres: "#4f46e5" };

/** Returns an SVG picture of the curves of one name, with logarithmic axes. */
export function drawCurves(curves: readonly Curve[]): string {
  const points = curves.flatMap(({ points }) => points);
  const costs = points.flatMap(({ service, database }) => [service, database ?? service]);
  const x = axis(points.map(({ size }) => size), margin, width - 12);
  const y = axis(costs, height - margin, 28);
  const lines = curves.flatMap((curve) => {
    const color = colors[curve.engine] ?? "#444";
    const path = (cost: (point: Point) => number | null) =>
      curve.points.flatMap((point) => {
        const value = cost(point);
        return value === null ? [] : [`${x.at(point.size)},${y.at(value)}`];
      }).join(" ");
    return [
      `<polyline points="${path(({ service }) => service)}" stroke="${color}"/>`,
      `<polyline points="${path(({ database }) => database)}" stroke="${color}" ` +
      `stroke-dasharray="4 3"/>`,
    ];
  });
  const first = curves[0];
  const labels = [
    ...x.ticks.map((tick) => label(x.at(tick), height - margin + 16, short(tick), "middle")),
    ...y.ticks.map((tick) => label(margin - 6, y.at(tick) + 4, short(tick), "end")),
    label(width / 2, 16, `${first?.name ?? ""}: µs by ${first?.grows ?? ""}`, "middle"),
    ...curves.map(({ engine }, line) => (
      label(margin + 8, 40 + 14 * line, engine, "start", colors[engine])
    )),
    label(width / 2, height - 8, "dashed: the same statements without the service", "middle"),
  ];
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" ` +
    `font-family="sans-serif" font-size="11">\n<rect width="100%" height="100%" fill="#fff"/>\n` +
    `<path d="M${margin} 28V${height - margin}H${width - 12}" stroke="#999" fill="none"/>\n` +
    `<g fill="none" stroke-width="2">\n${lines.join("\n")}\n</g>\n${labels.join("\n")}\n</svg>\n`;
}

/** A logarithmic axis from one place to another. */
function axis(values: readonly number[], from: number, to: number) {
  const [low, high] = [Math.log10(Math.min(...values)), Math.log10(Math.max(...values))];
  const span = high - low || 1;
  const powers = Array.from({ length: 12 }, (_, power) => 10 ** power);
  const ticks = powers.filter((tick) => Math.log10(tick) >= low && Math.log10(tick) <= high);
  return {
    ticks: ticks.length > 1 ? ticks : [...new Set([10 ** low, 10 ** high])],
    at: (value: number) => Math.round(from + (Math.log10(value) - low) / span * (to - from)),
  };
}

function label(x: number, y: number, text: string, anchor: string, color = "#333"): string {
  return `<text x="${x}" y="${y}" text-anchor="${anchor}" fill="${color}">${text}</text>`;
}

function short(value: number): string {
  if (value >= 1e6) return `${Math.round(value / 1e6)}M`;
  return value >= 1e3 ? `${Math.round(value / 1e3)}k` : String(Math.round(value));
}
