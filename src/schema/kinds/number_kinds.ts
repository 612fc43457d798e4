import { isExactNumber } from "../exact_number.ts";
import { InvalidValue, type Kind, type ValueRules } from "../kind.ts";
import { isSpecialValue } from "../special_values.ts";

/** 64-bit integers: numbers, or bigints beyond 2^53. */
export const integerKind: Kind = {
  fromJson(value) {
    if (typeof value === "bigint") return numberOrBigint(int64(value));
    if (typeof value === "string") return integerFromText(value);
    requireSafe(value);
    if (typeof value !== "number" || !Number.isSafeInteger(value)) {
      throw new InvalidValue("must be a whole number");
    }
    return value + 0; // −0 becomes 0.
  },
  fromText: integerFromText,
  compare: compareNumbers,
  ordered: true,
};

export const bigintKind: Kind = {
  fromJson(value) {
    if (typeof value === "string") return String(int64(wholeNumber(value)));
    if (typeof value === "bigint") return String(int64(value));
    requireSafe(value);
    if (typeof value !== "number" || !Number.isSafeInteger(value)) {
      throw new InvalidValue("must be a whole number, as a string of digits");
    }
    return String(value);
  },
  fromText: (text) => String(int64(wholeNumber(text))),
  compare: (left, right) => compareDecimals(String(left), String(right)),
  ordered: true,
};

/** Finite doubles. −0 becomes 0, so that all engines agree on what is equal. */
export const realKind: Kind = {
  fromJson(value) {
    // If a number in the body has more digits than a double can hold, it is rounded.
    if (isExactNumber(value)) return finite(Number(value.rawJSON));
    if (typeof value !== "number" && typeof value !== "bigint") {
      throw new InvalidValue("must be a number");
    }
    return finite(Number(value));
  },
  fromText(text) {
    if (isSpecialValue(text, "real")) return text;
    if (!/^-?\d+(\.\d+)?([eE][+-]?\d+)?$/.test(text)) throw new InvalidValue("must be a number");
    return finite(Number(text));
  },
  compare: compareNumbers,
  ordered: true,
};

export function numberOrBigint(value: bigint): number | bigint {
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : value;
}

/** Throws for a whole JavaScript number beyond 2^53: it may be rounded. Bigints are accepted. */
export function requireSafe(value: unknown): void {
  if (Number.isInteger(value) && !Number.isSafeInteger(value)) {
    throw new InvalidValue("must be a string of digits beyond 2^53: this number may be rounded");
  }
}

function integerFromText(text: string): number | bigint {
  // A number is parsed five times faster than a bigint, and most keys are short. −0 becomes 0.
  if (/^-?\d{1,15}$/.test(text)) return Number(text) + 0;
  return numberOrBigint(int64(wholeNumber(text)));
}

function wholeNumber(text: string): bigint {
  // BigInt() is slow for long strings. No 64-bit integer needs more than 40 digits.
  if (!/^-?\d{1,40}$/.test(text)) throw new InvalidValue("must be a whole number");
  return BigInt(text);
}

function int64(value: bigint): bigint {
  if (BigInt.asIntN(64, value) !== value) throw new InvalidValue("must fit in 64 bits");
  return value;
}

function finite(value: number): number {
  if (!Number.isFinite(value)) throw new InvalidValue("must be a finite number");
  return value + 0; // −0 becomes 0.
}

function compareNumbers(left: unknown, right: unknown): number {
  // JavaScript compares numbers and bigints exactly. An invalid stored value, such as a string in
  // an integer column, can be anywhere in the order, but equals no valid value.
  const [a, b] = [left, right] as [number | bigint, number | bigint];
  if (a < b) return -1;
  return a > b || String(a) !== String(b) ? 1 : 0;
}

export const decimalKind: Kind = {
  fromJson(value, rules) {
    if (typeof value === "string") return fromDigits(value, rules);
    if (typeof value === "bigint") return fromDigits(String(value), rules);
    if (isExactNumber(value)) return fromDigits(value.rawJSON, rules);
    if (typeof value !== "number") throw new InvalidValue("must be a decimal number");
    return fromDigits(String(value), rules);
  },
  fromText: (text, rules) => isSpecialValue(text, "decimal") ? text : fromDigits(text, rules),
  compare: (left, right) => compareDecimals(String(left), String(right)),
  ordered: true,
};

/** Maximum number of digits, more than any real use needs. It limits exponents like `1e9999`. */
const maxDigits = 1000;

/** `-007.50` → `-7.50`, `1e-7` → `0.0000001`; null for other strings and above 1000 digits. */
export function plainDecimal(text: string): string | null {
  const match = /^(-?)(\d{1,1000})(?:\.(\d{1,1000}))?(?:[eE]([+-]?\d{1,4}))?$/.exec(text);
  if (match === null) return null;
  const [, sign = "", whole = "", fraction = "", exponent = "0"] = match;
  const shift = Number(exponent);
  if (whole.length + fraction.length + Math.abs(shift) > maxDigits) return null;
  const digits = "0".repeat(Math.max(0, -shift)) + whole + fraction +
    "0".repeat(Math.max(0, shift - fraction.length));
  const point = whole.length + Math.max(0, -shift) + shift;
  const integer = digits.slice(0, point).replace(/^0+(?=\d)/, "") || "0";
  const rest = digits.slice(point);
  const magnitude = rest === "" ? integer : `${integer}.${rest}`;
  return /[1-9]/.test(magnitude) ? sign + magnitude : magnitude;
}

/** Returns a {@link plainDecimal} with `scale` fraction digits; null if a digit would be lost. */
export function withScale(plain: string, scale: number | null): string | null {
  if (scale === null) return plain;
  if (scale < 0) {
    const whole = withScale(plain, 0);
    return whole === null || /[1-9]/.test(whole.slice(scale)) ? null : whole;
  }
  const point = plain.indexOf(".");
  const whole = point < 0 ? plain : plain.slice(0, point);
  const fraction = point < 0 ? "" : plain.slice(point + 1);
  if (/[1-9]/.test(fraction.slice(scale))) return null;
  return scale === 0 ? whole : `${whole}.${fraction.slice(0, scale).padEnd(scale, "0")}`;
}

/** Removes zeros at the end of a {@link plainDecimal}: equal numbers are then equal strings. */
export function shortestDecimal(plain: string): string {
  return plain.includes(".") ? plain.replace(/\.?0+$/, "") : plain;
}

export function significantDigits(plain: string): number {
  return plain.replace(/[-.]/g, "").replace(/^0+|0+$/g, "").length;
}

export function compareDecimals(left: string, right: string): number {
  if (left === right) return 0;
  const leftNegative = left.startsWith("-");
  if (leftNegative !== right.startsWith("-")) return leftNegative ? -1 : 1;
  return leftNegative
    ? compareMagnitudes(right.slice(1), left.slice(1))
    : compareMagnitudes(left, right);
}

function fromDigits(text: string, rules: ValueRules): string {
  const { precision, scale } = rules;
  const plain = plainDecimal(text);
  const scaled = plain === null ? null : withScale(plain, scale);
  // Zeros up to the scale can make a value so long that it could not be parsed again.
  if (plain === null || (scaled !== null && plainDecimal(scaled) === null)) {
    throw new InvalidValue("must be a decimal number");
  }
  if (scaled === null) {
    throw new InvalidValue(
      scale !== null && scale < 0
        ? `must be a multiple of 1${"0".repeat(-scale)}`
        : `must have at most ${scale} digits after the point`,
    );
  }
  // With a negative scale, SQL does not count the required zeros at the end as digits.
  const allowed = precision === null ? Infinity : precision - Math.min(scale ?? 0, 0);
  if (digitsCounted(scaled) > allowed) {
    throw new InvalidValue(`must have at most ${allowed} digits`);
  }
  return scaled;
}

function digitsCounted(plain: string): number {
  return plain.replace(/[-.]/g, "").replace(/^0+/, "").length;
}

function compareMagnitudes(left: string, right: string): number {
  const [leftWhole = "", leftFraction = ""] = left.split(".");
  const [rightWhole = "", rightFraction = ""] = right.split(".");
  if (leftWhole.length !== rightWhole.length) return leftWhole.length - rightWhole.length;
  const length = Math.max(leftFraction.length, rightFraction.length);
  const a = leftWhole + leftFraction.padEnd(length, "0");
  const b = rightWhole + rightFraction.padEnd(length, "0");
  return a === b ? 0 : a < b ? -1 : 1;
}
