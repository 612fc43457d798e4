import type { FieldType, FieldTypes, LiveRow } from "./live_messages.ts";

/** Compares two rows of a list: negative where the first comes first. */
export type CompareRows = (left: LiveRow, right: LiveRow) => number;

/**
 * The order of a list as the service has it: the fields of `orderBy`, then the primary key; nulls
 * last in both directions, numbers before strings, and those by code point.
 */
export function compareBy(orderBy: readonly string[], types: FieldTypes): CompareRows {
  const keys = orderBy.map((key): [name: string, sign: number] => [
    fieldOf(key),
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
  const place = before ? rows.indexOf(before) : -1;
  if (place >= 0) rows.splice(place, 1);
  if (!after) return;
  let low = 0;
  let high = rows.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    // The index is within the bounds.
    if (compare(rows[middle] as LiveRow, after) < 0) low = middle + 1;
    else high = middle;
  }
  rows.splice(low, 0, after);
}

function compareValues(a: unknown, b: unknown, type: FieldType | undefined): number {
  // The labels of an enum; its columns hold nothing else.
  if (Array.isArray(type)) return type.indexOf(a) - type.indexOf(b);
  const x = doubleOf(a, type);
  const y = doubleOf(b, type);
  // A column of numbers and strings has its strings last.
  if (isNaN(x) !== isNaN(y)) return isNaN(x) ? 1 : -1;
  // Exact, whatever the number of digits.
  if (!isNaN(x)) return x - y || Number(scaled(a, b) - scaled(b, a));
  const left = `${a}`;
  const right = `${b}`;
  // `<` compares UTF-16, in which an emoji comes before U+FFFF.
  let i = 0;
  while (left[i] && left[i] === right[i]) i++;
  // The end of a timestamp, so that more digits of a fraction come after fewer.
  const at = (text: string) =>
    type === "timestamp" && text[i] === "Z" ? 0 : text.codePointAt(i) ?? -1;
  return at(left) - at(right);
}

/** The double next to a number; NaN for anything else. In a column of any values, digits are a string. */
function doubleOf(value: unknown, type: FieldType | undefined): number {
  const isNumber = typeof value !== "string" ||
    /^(int|big|dec|re|any-?I)/.test(type + value) && value;
  return isNumber ? Number(plain(value)) : NaN;
}

/** The service marks numbers that no double has. */
function plain(value: unknown): unknown {
  // Any other value has no such member.
  return (value as { readonly $number?: string }).$number ?? value;
}

/** An integer of the smallest digit of two numbers. */
function scaled(value: unknown, other: unknown): bigint {
  // No decimal of Postgres has as many digits before its point.
  const digits = `${plain(value)}`.replace(/I.*/, "9".repeat(2e5));
  // Every string has a first part.
  const [whole, fraction = ""] = digits.split(".") as [string, string?];
  return BigInt(whole + fraction.padEnd(`${other}${value}`.length, "0"));
}
