import { looksLikeNumber, numberOf } from "./any_kind.ts";
import { InvalidValue } from "../kind.ts";

/**
 * Returns the string for a value of an `any` column in a path: a string that looks like another
 * value is quoted.
 */
export function anyKeyText(value: unknown): string {
  const isQuoted = typeof value === "string" &&
    (looksLikeNumber(value) || /^"|^$|^-?Infinity$/.test(value));
  return isQuoted ? `"${value}"` : String(value);
}

/** Returns the string within the quotes of a path; undefined without quotes. */
export function quotedKeyText(text: string): string | undefined {
  return /^"(.*)"$/s.exec(text)?.[1];
}

/**
 * Returns the safe form of a key's value: a number up to 2^53, or else the string in a path.
 * Clients use it as the id of a row.
 */
export function safeKey(value: unknown): unknown {
  const isShort = typeof value === "number" && Math.abs(value) <= Number.MAX_SAFE_INTEGER;
  return isShort || value === null ? value : anyKeyText(value);
}

/**
 * Returns the value whose {@link safeKey} is this string. Throws an {@link InvalidValue} for `5`:
 * the number has no quotes, and the string has two pairs.
 */
export function fromSafeKey(text: string): unknown {
  const quoted = quotedKeyText(text);
  if (quoted !== undefined || !looksLikeNumber(text)) return quoted ?? text;
  const number = numberOf(text);
  if (typeof safeKey(number) === "string") return number;
  throw new InvalidValue("must be the number without quotes, or a string with quotes in it");
}
