/** The most characters of an answer. */
const maxCharacters = 20_000;

/** The most characters of one string in it, and where more do not fit. */
const cellCharacters = 500;
const shortCellCharacters = 80;

/** A page of rows for a model. */
export interface ToolPage {
  readonly data: unknown;
  readonly nextCursor: string | null;
}

/**
 * A page that fits, of fewer rows where it must: so its cursor continues after what is shown. `read`
 * reads so many rows.
 */
export async function fitRows(
  limit: number,
  read: (count: number) => Promise<ToolPage>,
): Promise<unknown> {
  for (let count = limit;; count = Math.floor(count / 3)) {
    const page = await read(Math.max(1, count));
    const cut = cutCells(page, cellCharacters);
    if (count <= 1 || sizeOf(cut) <= maxCharacters) return shortened(page);
  }
}

/** A value that fits: long strings are cut, further where they are many. */
export function shortened(value: unknown): unknown {
  const cut = cutCells(value, cellCharacters);
  if (sizeOf(cut) <= maxCharacters) return cut;
  const short = cutCells(value, shortCellCharacters);
  if (sizeOf(short) <= maxCharacters) return short;
  return { cut: JSON.stringify(short).slice(0, maxCharacters - 200), note: "Select fewer fields." };
}

function sizeOf(value: unknown): number {
  return JSON.stringify(value ?? null).length;
}

/** A tag or a cursor is of no use in part. */
const whole: ReadonlySet<string> = new Set(["nextCursor", "etag"]);

function cutCells(value: unknown, limit: number): unknown {
  if (typeof value === "string") {
    return value.length <= limit
      ? value
      : `${value.slice(0, limit)}… [cut, ${value.length} characters]`;
  }
  if (Array.isArray(value)) return value.map((item) => cutCells(item, limit));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [
      name,
      whole.has(name) ? member : cutCells(member, limit),
    ]),
  );
}
