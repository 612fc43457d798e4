import { isExactNumber } from "../exact_number.ts";
import { InvalidValue, type Kind } from "../kind.ts";
import { compareText, requireStorableText } from "./text_kind.ts";

/** Values of a SQLite column of an ambiguous type: numbers, strings, then bytes (`x'00ff'`). */
export const anyKind: Kind = {
  fromJson(value) {
    if (isExactNumber(value)) return numberOf(value.rawJSON);
    if (typeof value === "number" && Number.isFinite(value)) return value + 0; // −0 becomes 0.
    if (typeof value === "bigint") return numberOf(String(value));
    if (typeof value !== "string") throw new InvalidValue("must be a number or a string");
    requireStorableText(value);
    return value;
  },
  fromText(text) {
    requireStorableText(text);
    // In rows, an infinity is the string `Infinity` or `-Infinity`.
    if (/^-?Infinity$/.test(text)) return Number(text);
    return looksLikeNumber(text) ? numberOf(text) : text;
  },
  compare(left, right) {
    const order = rank(left) - rank(right);
    if (order !== 0) return order;
    return typeof left === "string"
      ? compareText(left, String(right))
      : Number(left) - Number(right);
  },
  ordered: true,
};

function rank(value: unknown): number {
  return typeof value !== "string" ? 0 : isBlobLiteral(value) ? 2 : 1;
}

/** Returns true for bytes in SQL's notation: `x'00ff'`. */
export function isBlobLiteral(value: unknown): value is string {
  return typeof value === "string" && /^x'(?:[0-9a-f]{2})*'$/.test(value);
}

/** Returns true if SQL would read the string as a number. A string with spaces is no number. */
export function looksLikeNumber(text: string): boolean {
  return /^[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?$/.test(text);
}

export function numberOf(text: string): number | bigint {
  const number = Number(text);
  if (!Number.isFinite(number)) throw new InvalidValue("must be a number that a double can hold");
  if (Number.isSafeInteger(number) || !/^[-+]?\d{1,19}$/.test(text)) return number + 0;
  const whole = BigInt(text.replace("+", ""));
  return BigInt.asIntN(64, whole) === whole ? whole : number;
}
