import type { FieldType, FieldTypes, LiveRow } from "./live_messages.ts";

/** Compares two rows of a list. The result is negative if the first row precedes the second. */
export type CompareRows = (left: LiveRow, right: LiveRow) => number;

/**
 * Returns the comparison function for a list, with the order of the service. Rows are compared by
 * the fields of `orderBy`, then by the primary key. Nulls come last in both directions. Numbers
 * precede strings, and strings are compared by code point.
 */
export function compareBy(orderBy: readonly string[], types: FieldTypes): CompareRows {
  const keys = orderBy.map((key): [name: string, sign: number] => [
    sortFieldOf(key),
    /^-|:desc$/.test(key) ? -1 : 1,
  ]);
  return (left, right) => {
    for (const [name, sign] of keys) {
      const a = left[name] ?? null;
      const b = right[name] ?? null;
      if (a === b) continue;
      if (a === null || b === null) return a === null ? 1 : -1;
      const order = compareValues(a, b, types[name]) * sign;
      if (order) return order;
    }
    return 0;
  };
}

/** Returns the field name in an `orderBy` key such as `-name` or `name:desc`. */
export function sortFieldOf(key: string): string {
  return key.replace(/^-|:.*$/g, "");
}

/** Replaces a row in a sorted list. Inserts if `before` is null, and removes if `after` is null. */
export function replaceRow(
  rows: LiveRow[],
  compare: CompareRows,
  before: LiveRow | null | undefined,
  after: LiveRow | null,
): void {
  const place = before ? rows.indexOf(before) : -1;
  if (place >= 0) rows.splice(place, 1);
  if (!after) return;
  let low = 0;
  let high = rows.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    // The cast is safe: the index is within the bounds of the list.
    if (compare(rows[middle] as LiveRow, after) < 0) low = middle + 1;
    else high = middle;
  }
  rows.splice(low, 0, after);
}

function compareValues(a: unknown, b: unknown, type: FieldType | undefined): number {
  // Enum labels are compared by their position, because the column contains no other strings.
  if (Array.isArray(type)) return type.indexOf(a) - type.indexOf(b);
  const x = doubleOf(a, type);
  const y = doubleOf(b, type);
  // Strings come last in a column of numbers and strings.
  if (isNaN(x) !== isNaN(y)) return isNaN(x) ? 1 : -1;
  // Different decimals may be equal as doubles, so the digits are compared exactly.
  if (!isNaN(x)) return x - y || Number(scaled(a, b) - scaled(b, a));
  const left = `${a}`;
  const right = `${b}`;
  // `<` would compare UTF-16 code units, and an emoji would precede U+FFFF.
  let i = 0;
  while (left[i] && left[i] === right[i]) i++;
  // The final `Z` of a timestamp sorts before every digit of a longer fraction.
  const at = (text: string) =>
    type === "timestamp" && text[i] === "Z" ? 0 : text.codePointAt(i) ?? -1;
  return at(left) - at(right);
}

/**
 * Returns the double that is nearest to a number, or NaN for any other value. In a column of
 * numbers and strings, digits in a JSON string are not a number.
 */
function doubleOf(value: unknown, type: FieldType | undefined): number {
  const isNumber = typeof value !== "string" ||
    /^(int|big|dec|re|any-?I)/.test(type + value) && value;
  return isNumber ? Number(plain(value)) : NaN;
}

/** Returns the digits of a number that no double equals, and any other value unchanged. */
function plain(value: unknown): unknown {
  // The cast is safe: only a number that no double equals has this member.
  return (value as { readonly $number?: string }).$number ?? value;
}

/** Converts a decimal to an integer. The scale is large enough for both compared numbers. */
function scaled(value: unknown, other: unknown): bigint {
  // Replaces `Infinity` by more digits than any Postgres decimal has, so that it sorts last.
  const digits = `${plain(value)}`.replace(/I.*/, "9".repeat(2e5));
  // The cast is safe: splitting a string always returns a first part.
  const [whole, fraction = ""] = digits.split(".") as [string, string?];
  return BigInt(whole + fraction.padEnd(`${other}${value}`.length, "0"));
}
