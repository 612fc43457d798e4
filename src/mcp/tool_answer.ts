const maxCharacters = 20_000;

/** Maximum characters of a string, normally and if the response would be too long. */
const cellCharacters = 500;
const shortCellCharacters = 80;

/** Returns a page with as many rows as the size limit allows. `read(n)` reads up to `n` rows. */
export async function fitRows(
  limit: number,
  read: (count: number) => Promise<{ readonly data: unknown; readonly nextCursor: string | null }>,
): Promise<unknown> {
  for (let count = limit;; count = Math.floor(count / 3)) {
    const page = await read(Math.max(1, count));
    const cut = cutCells(page, cellCharacters);
    if (count <= 1 || sizeOf(cut) <= maxCharacters) return shortenValue(page);
  }
}

/** Returns a value within the size limit. Truncates strings to 500 characters, or 80 if needed. */
export function shortenValue(value: unknown): unknown {
  const cut = cutCells(value, cellCharacters);
  if (sizeOf(cut) <= maxCharacters) return cut;
  const short = cutCells(value, shortCellCharacters);
  if (sizeOf(short) <= maxCharacters) return short;
  return { cut: JSON.stringify(short).slice(0, maxCharacters - 200), note: "Select fewer fields." };
}

function sizeOf(value: unknown): number {
  return JSON.stringify(value ?? null).length;
}

/** Members that are never truncated, because a part of an ETag or of a cursor is useless. */
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
