/** The height of a row, which app.css has too. */
export const rowHeight = 28;

/** Browsers draw no element that is higher than about 17 million pixels. */
const maxHeight = 15_000_000;

/** Which rows of a long table are drawn, and where. */
export interface GridWindow {
  readonly first: number;
  /** Not included. */
  readonly end: number;
  /** The heights of what is left out above and below. */
  readonly above: number;
  readonly below: number;
}

/**
 * The rows in view. Where all rows together would be too high, the bar moves over more of them per
 * pixel.
 */
export function gridWindow(
  { rows, scrollTop, height }: {
    readonly rows: number;
    readonly scrollTop: number;
    readonly height: number;
  },
): GridWindow {
  const whole = rows * rowHeight;
  const drawn = Math.min(whole, maxHeight);
  const scale = drawn > height ? (whole - height) / (drawn - height) : 1;
  const offset = Math.min(scrollTop, drawn) * scale;
  const top = Math.max(0, Math.floor(offset / rowHeight) - overscan);
  const first = Math.min(top, rows);
  const end = Math.min(rows, Math.ceil((offset + height) / rowHeight) + overscan);
  const above = Math.max(0, scrollTop - (offset - first * rowHeight));
  return { first, end, above, below: Math.max(0, drawn - above - (end - first) * rowHeight) };
}

const overscan = 6;

/** Returns the scroll position at which a row comes into view, or null if the row is in view. */
export function scrollTopOf(
  row: number,
  { rows, scrollTop, height, headHeight }: {
    readonly rows: number;
    readonly scrollTop: number;
    readonly height: number;
    /** The height of the part of the view that the head of the table covers. */
    readonly headHeight: number;
  },
): number | null {
  const whole = rows * rowHeight;
  const drawn = Math.min(whole, maxHeight);
  const scale = drawn > height ? (whole - height) / (drawn - height) : 1;
  const top = row * rowHeight;
  const offset = Math.min(scrollTop, drawn) * scale;
  if (top < offset) return top / scale;
  const last = offset + height - headHeight - rowHeight;
  return top <= last ? null : (top - last + offset) / scale;
}
