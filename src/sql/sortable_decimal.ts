/**
 * Converts a decimal to a string whose byte order is the order of the numbers, because SQLite has
 * no exact decimals. The string has a digit for the sign, the exponent of `0.d₁d₂… × 10^e` in four
 * digits, and the digits. Digits of a negative number are complements to nine, followed by a `~`,
 * so that a longer number sorts first.
 */
export function toSortableDecimal(plain: string): string {
  const isNegative = plain.startsWith("-");
  const [whole = "", fraction = ""] = plain.slice(isNegative ? 1 : 0).split(".");
  const digits = whole + fraction;
  const first = digits.search(/[1-9]/);
  if (first < 0) return zero;
  const exponent = whole.length - first;
  const mantissa = digits.slice(first).replace(/0+$/, "");
  return isNegative
    ? `0${String(middle - exponent).padStart(4, "0")}${ninesComplement(mantissa)}~`
    : `2${String(middle + exponent).padStart(4, "0")}${mantissa}`;
}

export function fromSortableDecimal(sortable: string): string {
  if (sortable === zero) return "0";
  const isNegative = sortable.startsWith("0");
  const offset = Number(sortable.slice(1, 5)) - middle;
  const exponent = isNegative ? -offset : offset;
  const mantissa = isNegative ? ninesComplement(sortable.slice(5, -1)) : sortable.slice(5);
  const digits = mantissa.padStart(mantissa.length - Math.min(exponent, 0), "0");
  const point = Math.max(exponent, 0);
  const fraction = digits.slice(point);
  const whole = digits.slice(0, point).padEnd(point, "0") || "0";
  return `${isNegative ? "-" : ""}${whole}${fraction === "" ? "" : `.${fraction}`}`;
}

const zero = "1";

/** The number that is added to an exponent, so that the result has four digits and no sign. */
const middle = 5000;

function ninesComplement(digits: string): string {
  return digits.replace(/\d/g, (digit) => String(9 - Number(digit)));
}
