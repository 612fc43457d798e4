import { isPlainPattern, parsePlainPattern } from "../../sql/plain_pattern.ts";
import { matchesWildcards, maxPartLength } from "../../sql/wildcard_pattern.ts";
import { filterLimits } from "../syntax/filter_syntax.ts";

/** Returns why a LIKE pattern is invalid, or null. Long patterns are slow on every engine. */
export function patternFault(pattern: string): string | null {
  if (hasDanglingEscape(pattern)) return "must not end in a lone backslash";
  if (pattern.length <= filterLimits.pattern || isPlainPattern(pattern)) return null;
  return `must have at most ${filterLimits.pattern} characters, or no wildcard but % at its ends`;
}

/** Returns how many characters count towards the limit: none if `%` is only at the ends. */
export function patternCharactersForLimit(pattern: string): number {
  return isPlainPattern(pattern) ? 0 : pattern.length;
}

export function patternWork(pattern: string): number {
  return isPlainPattern(pattern) ? 1 : Math.max(1, maxPartLength(pattern));
}

export function matchesLike(text: string, pattern: string): boolean {
  const plain = parsePlainPattern(pattern);
  if (plain === null) return matchesWildcards(text, pattern);
  return plain.operator === "contains"
    ? text.includes(plain.text)
    : text[plain.operator](plain.text);
}

/** Returns true if a LIKE pattern ends in a lone `\`, for which engines have different results. */
export function hasDanglingEscape(pattern: string): boolean {
  let backslashes = 0;
  for (let i = pattern.length - 1; pattern.charCodeAt(i) === backslash; i--) backslashes++;
  return backslashes % 2 === 1;
}

const backslash = 0x5c;
