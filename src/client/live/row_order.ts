import type { FieldType, FieldTypes, LiveRow } from "./live_messages.ts";

export type CompareRows = (left: LiveRow, right: LiveRow) => number;

/**
 * Returns the comparison of a list's rows, like the service's: by the fields of `orderBy`, then the
 * primary key. NULL is last in both directions, numbers precede strings, and strings compare by
 * code point. A value that a new row lacks, such as a generated key, is greater than all others.
 */
export function compareBy(orderBy: readonly string[], types: FieldTypes): CompareRows {
  const keys = orderBy.map((key): [name: string, sign: number] => {
    const name = sortFieldOf(key);
    if (name.includes(".") && !types[name]) throw new TypeError(`Cannot order by ${name}`);
    return [name, /^-|:desc$/.test(key) ? -1 : 1];
  });
  return (left, right) => {
    for (const [name, sign] of keys) {
      const a = left[name];
      const b = right[name];
      if (a === b) continue;
      const rank = (value: unknown) => value === undefined ? 2 * sign : value === null ? 1 : 0;
      const order = rank(a) - rank(b) || compareValues(a, b, types[name]) * sign;
      if (order) return order;
    }
    return 0;
  };
}

export function sortFieldOf(key: string): string {
  return key.replace(/^-|:.*$/g, "");
}

function compareValues(a: unknown, b: unknown, type: FieldType | undefined): number {
  // The labels of an enum are compared by position. The column contains no other strings.
  if (Array.isArray(type)) return type.indexOf(a) - type.indexOf(b);
  const x = doubleOf(a, type);
  const y = doubleOf(b, type);
  // In a column of numbers and strings, strings come last.
  if (isNaN(x) !== isNaN(y)) return isNaN(x) ? 1 : -1;
  // Decimals with equal doubles can still differ, so their digits are compared.
  if (!isNaN(x)) return x - y || Number(scaled(a, b) - scaled(b, a));
  const left = `${a}`;
  const right = `${b}`;
  // `<` would compare UTF-16 code units: an emoji would precede U+FFFF.
  let i = 0;
  while (left[i] && left[i] === right[i]) i++;
  // Of two timestamps with equal digits, the shorter one, which is earlier, has a `Z` here.
  const at = (text: string) =>
    type === "timestamp" && text[i] === "Z" ? 0 : text.codePointAt(i) ?? -1;
  return at(left) - at(right);
}

/** Converts a value to a number; NaN for a string, unless the column contains only numbers. */
function doubleOf(value: unknown, type: FieldType | undefined): number {
  const isNumber = typeof value !== "string" ||
    /^(int|big|dec|re|any-?I)/.test(type + value) && value;
  return isNumber ? Number(plain(value)) : NaN;
}

/** Returns the digits of a `{ $number }`, which no double represents; other values unchanged. */
function plain(value: unknown): unknown {
  // The cast is safe: only a number without an exact double has this member.
  return (value as { readonly $number?: string }).$number ?? value;
}

/** Converts a decimal to an integer, with enough digits to compare `value` with `other`. */
function scaled(value: unknown, other: unknown): bigint {
  // Postgres's decimals have fewer digits than this, so `Infinity` is the largest number.
  const digits = `${plain(value)}`.replace(/I.*/, "9".repeat(2e5));
  // The cast is safe: there is always a first part.
  const [whole, fraction = ""] = digits.split(".") as [string, string?];
  return BigInt(whole + fraction.padEnd(`${other}${value}`.length, "0"));
}
