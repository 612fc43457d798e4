import { isPlain, plainPattern } from "../../sql/plain_pattern.ts";
import { filterLimits } from "../syntax/filter_syntax.ts";

/**
 * Why a text is not a valid LIKE pattern, as a message that completes "name …"; null for a valid
 * one. The length is limited because engines match a pattern at each position of the text.
 */
export function patternFault(pattern: string): string | null {
  if (hasDanglingEscape(pattern)) return "must not end in a lone backslash";
  if (pattern.length <= filterLimits.pattern || isPlain(pattern)) return null;
  return `must have at most ${filterLimits.pattern} characters, or no wildcard but % at its ends`;
}

/**
 * Whether `text` matches a LIKE pattern: `%` is any text, `_` any one character, `\` makes the
 * next character literal. Two pointers that backtrack to the last `%` only: in a RegExp, a pattern
 * of a few `%a` would backtrack for minutes.
 */
export function matchesLike(text: string, pattern: string): boolean {
  const plain = plainPattern(pattern);
  if (plain === null) return matchesWildcards(text, pattern);
  return plain.operator === "contains"
    ? text.includes(plain.text)
    : text[plain.operator](plain.text);
}

function matchesWildcards(text: string, pattern: string): boolean {
  let at = 0;
  let from = 0;
  // The index of the last `%`, and the end of the text that it matches so far.
  let wildcard = -1;
  let stretchedTo = 0;
  while (at < text.length) {
    const code = pattern.charCodeAt(from);
    if (code === percent) {
      wildcard = from++;
      stretchedTo = at;
    } else if (code === underscore) {
      from++;
      at += characterWidth(text, at);
    } else {
      const literalAt = code === backslash ? from + 1 : from;
      if (pattern.charCodeAt(literalAt) === text.charCodeAt(at)) {
        from = literalAt + 1;
        at++;
      } else if (wildcard >= 0) {
        from = wildcard + 1;
        stretchedTo += characterWidth(text, stretchedTo);
        at = stretchedTo;
      } else {
        return false;
      }
    }
  }
  while (pattern.charCodeAt(from) === percent) from++;
  return from === pattern.length;
}

/** Whether a LIKE pattern ends in a `\` that escapes nothing: the engines disagree about those. */
export function hasDanglingEscape(pattern: string): boolean {
  let backslashes = 0;
  for (let i = pattern.length - 1; pattern.charCodeAt(i) === backslash; i--) backslashes++;
  return backslashes % 2 === 1;
}

/** The units of the character at `at`; texts are well-formed. */
function characterWidth(text: string, at: number): number {
  return (text.charCodeAt(at) & 0xfc00) === 0xd800 ? 2 : 1;
}

const percent = 0x25;
const underscore = 0x5f;
const backslash = 0x5c;
