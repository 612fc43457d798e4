import { useEffect, useRef } from "preact/hooks";
import { formatNumber } from "../parts/format.ts";
import { type ChartLine, drawChart } from "./line_chart.ts";

/** A chart with its title, and the last value of each line in words. */
export function Chart({ title, unit, lines, points }: {
  readonly title: string;
  readonly unit: string;
  readonly lines: readonly ChartLine[];
  readonly points: number;
}) {
  const canvas = useRef<HTMLCanvasElement>(null);
  useEffect(() => {
    const draw = () => canvas.current && drawChart(canvas.current, lines, points);
    draw();
    const scheme = matchMedia("(prefers-color-scheme: dark)");
    addEventListener("resize", draw);
    scheme.addEventListener("change", draw);
    return () => {
      removeEventListener("resize", draw);
      scheme.removeEventListener("change", draw);
    };
  }, [lines]);
  const last = lines.map(({ name, values }) => ({
    name,
    value: values[values.length - 1] ?? null,
  }));
  const words = last.map(({ name, value }) =>
    `${name} ${value === null ? "–" : `${formatNumber(value)} ${unit}`}`
  );
  return (
    <figure class="chart">
      <figcaption>
        <h2>{title}</h2>
        <ul>
          {lines.map(({ name, color }, index) => (
            <li key={name} class={`line-${color}`}>{words[index]}</li>
          ))}
        </ul>
      </figcaption>
      <canvas ref={canvas} role="img" aria-label={`${title}: ${words.join(", ")}`} />
    </figure>
  );
}
