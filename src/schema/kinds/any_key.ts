import { looksLikeNumber, numberOf } from "./any_kind.ts";
import { InvalidValue } from "../kind.ts";

/** The string by which a path names a value of a column of any values: a string in quotes where it looks like something else. */
export function anyKeyText(value: unknown): string {
  const isQuoted = typeof value === "string" &&
    (looksLikeNumber(value) || /^"|^$|^-?Infinity$/.test(value));
  return isQuoted ? `"${value}"` : String(value);
}

/** The string within the quotes of a path; undefined if there are none. */
export function quotedKeyText(text: string): string | undefined {
  return /^"(.*)"$/s.exec(text)?.[1];
}

/**
 * The safe form of a value of a key: a number up to 2^53, and else the string that a path has.
 * It is what the client names a row by.
 */
export function safeKey(value: unknown): unknown {
  const isShort = typeof value === "number" && Math.abs(value) <= Number.MAX_SAFE_INTEGER;
  return isShort || value === null ? value : anyKeyText(value);
}

/**
 * The value whose {@link safeKey} is a string. Throws an {@link InvalidValue} for `5`: the number has
 * no quotes around it, and the string has two pairs.
 */
export function fromSafeKey(text: string): unknown {
  const quoted = quotedKeyText(text);
  if (quoted !== undefined || !looksLikeNumber(text)) return quoted ?? text;
  const number = numberOf(text);
  if (typeof safeKey(number) === "string") return number;
  throw new InvalidValue("must be the number without quotes, or a string with quotes in it");
}
