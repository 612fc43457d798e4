import { looksLikeNumber, numberOf } from "./any_kind.ts";
import { InvalidValue } from "../kind.ts";

/** Returns the path segment for a key. A string that looks like a number is in quotes: `"5"`. */
export function anyKeyText(value: unknown): string {
  const isQuoted = typeof value === "string" &&
    (looksLikeNumber(value) || /^"|^$|^-?Infinity$/.test(value));
  return isQuoted ? `"${value}"` : String(value);
}

export function unquotedKeyText(text: string): string | undefined {
  return /^"(.*)"$/s.exec(text)?.[1];
}

/** Returns a key for JSON: a number up to 2^53, or else the string from {@link anyKeyText}. */
export function safeKey(value: unknown): unknown {
  const isShort = typeof value === "number" && Math.abs(value) <= Number.MAX_SAFE_INTEGER;
  return isShort || value === null ? value : anyKeyText(value);
}

/** Parses a string from {@link safeKey}, which keeps 5 a number: throws InvalidValue for `5`. */
export function fromSafeKey(text: string): unknown {
  const quoted = unquotedKeyText(text);
  if (quoted !== undefined || !looksLikeNumber(text)) return quoted ?? text;
  const number = numberOf(text);
  if (typeof safeKey(number) === "string") return number;
  throw new InvalidValue("must be the number without quotes, or a string with quotes in it");
}
