import type { LiveRow } from "./live_messages.ts";

/** Compares two rows of a list: negative where the first comes first. */
export type CompareRows = (left: LiveRow, right: LiveRow) => number;

/**
 * The order of a list as the service has it: the fields of `orderBy`, then the primary key; nulls
 * last in both directions, numbers before strings, and those by code point. `types` are the kinds of the fields.
 */
export function compareBy(
  orderBy: readonly string[],
  types: Readonly<Record<string, string>>,
): CompareRows {
  const keys = orderBy.map((key): [name: string, sign: number] => [
    fieldOf(key),
    /^-|:desc$/.test(key) ? -1 : 1,
  ]);
  return (left, right) => {
    for (const [name, sign] of keys) {
      const a = left[name] ?? null;
      const b = right[name] ?? null;
      if (a === b) continue;
      if (a === null) return 1;
      if (b === null) return -1;
      const order = compareValues(a, b, types[name]);
      if (order !== 0) return order * sign;
    }
    return 0;
  };
}

/** The field of a key of `orderBy`: `-name`, `name:desc`. */
export function fieldOf(key: string): string {
  return key.replace(/^-|:.*$/g, "");
}

/** Puts one row in the place of another in a sorted list of rows; either may be missing. */
export function replaceRow(
  rows: LiveRow[],
  compare: CompareRows,
  before: LiveRow | null | undefined,
  after: LiveRow | null,
): void {
  if (before) {
    const place = rows.indexOf(before, placeInOrder(before, rows, compare));
    if (place >= 0) rows.splice(place, 1);
  }
  if (after) rows.splice(placeInOrder(after, rows, compare), 0, after);
}

/** The place of the first of these rows that does not come before a row. */
function placeInOrder(row: LiveRow, rows: readonly LiveRow[], compare: CompareRows): number {
  let low = 0;
  let high = rows.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    // The index is within the bounds.
    if (compare(rows[middle] as LiveRow, row) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}

function compareValues(a: unknown, b: unknown, type: string | undefined): number {
  // A column of numbers and strings has its strings last.
  if (typeof a !== "string") {
    // Numbers and bigints are compared exactly.
    const [left, right] = [numeric(a), numeric(b)] as [number, number];
    return typeof b === "string" || left < right ? -1 : +(left > right);
  }
  if (typeof b !== "string") return 1;
  if (/int|dec/.test(`${type}`)) {
    // Exact, whatever the number of digits: as whole numbers of their smallest digit.
    const digits = Math.max(a.length, b.length);
    return Number(scaled(a, digits) - scaled(b, digits));
  }
  // `<` compares UTF-16, in which an emoji comes before U+FFFF.
  let i = 0;
  while (i < a.length && a[i] === b[i]) i++;
  // The end of a moment, so that more digits of a fraction come after fewer.
  const at = (text: string) =>
    type === "timestamp" && text[i] === "Z" ? 0 : text.codePointAt(i) ?? -1;
  return at(a) - at(b);
}

/** Integers that no double has become bigints, which are compared with numbers exactly. */
function numeric(value: unknown): unknown {
  const { $number } = Object(value);
  return $number ? BigInt($number) : value;
}

function scaled(text: string, digits: number): bigint {
  const [whole = "", fraction = ""] = text.split(".");
  return BigInt(whole + fraction.padEnd(digits, "0"));
}
