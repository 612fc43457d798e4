/** A line of a chart. */
export interface ChartLine {
  readonly name: string;
  /** The name of its color: a property of the style sheet. */
  readonly color: string;
  /** As many as the chart has times; null where nothing is known. */
  readonly values: readonly (number | null)[];
}

/** Draws lines over the last moments, the newest at the right edge. */
export function drawChart(
  canvas: HTMLCanvasElement,
  lines: readonly ChartLine[],
  points: number,
): void {
  const { clientWidth: width, clientHeight: height } = canvas;
  const pen = canvas.getContext("2d");
  if (pen === null || width === 0) return;
  canvas.width = width * devicePixelRatio;
  canvas.height = height * devicePixelRatio;
  pen.scale(devicePixelRatio, devicePixelRatio);
  const style = getComputedStyle(canvas);
  // A property of the style sheet has one color for each scheme: the computed one is the right one.
  const color = (name: string) => {
    canvas.style.color = `var(--${name})`;
    return style.color;
  };
  const top = niceTop(Math.max(0, ...lines.flatMap(({ values }) => values.map((one) => one ?? 0))));
  const y = (value: number) => height - 1 - value / top * (height - 14);
  pen.font = `11px ${style.fontFamily}`;
  pen.lineWidth = 1;
  for (const part of [0, 0.5, 1]) {
    pen.strokeStyle = color("line");
    pen.beginPath();
    pen.moveTo(0, Math.round(y(top * part)) + 0.5);
    pen.lineTo(width, Math.round(y(top * part)) + 0.5);
    pen.stroke();
    pen.fillStyle = color("quiet");
    if (part > 0) pen.fillText(String(Number((top * part).toPrecision(3))), 2, y(top * part) - 3);
  }
  pen.lineWidth = 1.5;
  for (const { values, color: name } of lines) {
    pen.strokeStyle = pen.fillStyle = color(name);
    pen.beginPath();
    let isDown = false;
    values.forEach((value, index) => {
      const x = width - 1 - (values.length - 1 - index) * (width / (points - 1));
      if (value !== null && isDown) pen.lineTo(x, y(value));
      if (value !== null && !isDown) {
        // A point between unknown values has no line.
        pen.fillRect(x - 1, y(value) - 1, 2, 2);
        pen.moveTo(x, y(value));
      }
      isDown = value !== null;
    });
    pen.stroke();
  }
}

/** The next of 1, 2, 5, 10, 20 … that is not below. */
function niceTop(value: number): number {
  if (value <= 0) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 5, 10].map((step) => step * power).find((step) => step >= value) ?? value;
}
