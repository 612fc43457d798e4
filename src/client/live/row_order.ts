import type { LiveRow } from "./live_messages.ts";

/** Compares two rows of a list: negative where the first comes first. */
export type CompareRows = (left: LiveRow, right: LiveRow) => number;

/**
 * The order of a list as the service has it: the fields of `orderBy`, then the primary key; nulls
 * last in both directions, texts by code point. `types` are the kinds of the fields.
 */
export function compareBy(
  orderBy: readonly string[],
  types: Readonly<Record<string, string>>,
): CompareRows {
  const keys = orderBy.map((text) => {
    const name = fieldOf(text);
    const isDescending = text[0] === "-" || text.endsWith(":desc");
    return { name, type: types[name] ?? "", sign: isDescending ? -1 : 1 };
  });
  return (left, right) => {
    for (const { name, type, sign } of keys) {
      const a = left[name] ?? null;
      const b = right[name] ?? null;
      if (a === b) continue;
      if (a === null) return 1;
      if (b === null) return -1;
      const order = compareValues(a, b, type);
      if (order !== 0) return order * sign;
    }
    return 0;
  };
}

/** The field of a key of `orderBy`: `-name`, `name:desc`. */
export function fieldOf(key: string): string {
  return key.replace(/^-|:.*$/g, "");
}

/** The place of the first of these rows that does not come before a row. */
export function placeInOrder(row: LiveRow, rows: readonly LiveRow[], compare: CompareRows): number {
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

function compareValues(a: unknown, b: unknown, type: string): number {
  if (typeof a !== "string" || typeof b !== "string") return Number(a) - Number(b);
  if (type === "bigint" || type === "decimal") return compareDecimals(a, b);
  // `<` compares UTF-16, in which an emoji comes before U+FFFF.
  let i = 0;
  while (i < a.length && a[i] === b[i]) i++;
  // The end of a moment, so that more digits of a fraction come after fewer.
  const at = (text: string) =>
    type === "timestamp" && text[i] === "Z" ? 0 : text.codePointAt(i) ?? -1;
  return at(a) - at(b);
}

/** Exact, whatever the number of digits: as whole numbers of their smallest digit. */
function compareDecimals(...texts: [string, string]): number {
  const fractions = texts.map((text) => text.split(".")[1]?.length ?? 0);
  const [a = 0n, b = 0n] = texts.map((text, index) =>
    BigInt(text.replace(".", "") + "0".repeat(Math.max(...fractions) - (fractions[index] ?? 0)))
  );
  return a < b ? -1 : a > b ? 1 : 0;
}
