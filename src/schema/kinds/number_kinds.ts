import { compareDecimals } from "./decimal_kind.ts";
import { isExactNumber } from "../exact_number.ts";
import { InvalidValue, type Kind } from "../kind.ts";
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

/** 64-bit integers as strings of digits, which are never rounded. */
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
    // A number in a body with more digits than a double is rounded.
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

/** Returns the integer as a number if a double represents it exactly, and otherwise as a bigint. */
export function numberOrBigint(value: bigint): number | bigint {
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : value;
}

/** Throws for a number beyond 2^53, which may be rounded. In bodies, such integers are bigints. */
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
  // BigInt() is slow for many digits. 64-bit integers never need 40.
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
