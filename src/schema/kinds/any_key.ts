import { looksLikeNumber, numberOf } from "./any_kind.ts";
import { InvalidValue } from "../kind.ts";

/** Returns a key of an `any` column for a path. Quotes a string that looks like another value. */
export function anyKeyText(value: unknown): string {
  const isQuoted = typeof value === "string" &&
    (looksLikeNumber(value) || /^"|^$|^-?Infinity$/.test(value));
  return isQuoted ? `"${value}"` : String(value);
}

/** Returns the string between the quotes of a path segment, or undefined without quotes. */
export function quotedKeyText(text: string): string | undefined {
  return /^"(.*)"$/s.exec(text)?.[1];
}

/**
 * Returns the safe form of a key's value, by which clients identify a row. It is a number up to
 * 2^53, and otherwise the string that a path contains.
 */
export function safeKey(value: unknown): unknown {
  const isShort = typeof value === "number" && Math.abs(value) <= Number.MAX_SAFE_INTEGER;
  return isShort || value === null ? value : anyKeyText(value);
}

/**
 * Parses a string that {@link safeKey} returned. Throws an {@link InvalidValue} for `5`. The number
 * 5 is not a string in the safe form, and the string "5" has two pairs of quotes.
 */
export function fromSafeKey(text: string): unknown {
  const quoted = quotedKeyText(text);
  if (quoted !== undefined || !looksLikeNumber(text)) return quoted ?? text;
  const number = numberOf(text);
  if (typeof safeKey(number) === "string") return number;
  throw new InvalidValue("must be the number without quotes, or a string with quotes in it");
}
