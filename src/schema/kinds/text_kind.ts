import { isEmail } from "../email.ts";
import { InvalidValue, type Kind } from "../kind.ts";

/** Unicode strings that every engine can store. They are sorted by code point. */
export const textKind: Kind = {
  fromJson(value, rules) {
    if (typeof value !== "string") throw new InvalidValue("must be a string");
    requireStorableText(value);
    if (rules.enumValues !== null && !rules.enumValues.includes(value)) {
      throw new InvalidValue(`must be one of: ${rules.enumValues.join(", ")}`);
    }
    if (rules.maxLength !== null && isLongerThan(value, rules.maxLength)) {
      throw new InvalidValue(`must have at most ${rules.maxLength} characters`);
    }
    if (rules.minLength !== null && !isLongerThan(value, rules.minLength - 1)) {
      throw new InvalidValue(`must have at least ${counted(rules.minLength)}`);
    }
    if (rules.format !== null && !isEmail(value)) {
      throw new InvalidValue("must be an e-mail address");
    }
    if (rules.pattern !== null && !rules.pattern.matches(value)) {
      throw new InvalidValue(`must match ${rules.pattern.source}`);
    }
    return value;
  },
  fromText(text) {
    requireStorableText(text);
    return text;
  },
  compare: (left, right) => compareText(String(left), String(right)),
  ordered: true,
};

/** Throws for a NUL, at which node:sqlite truncates, or a lone surrogate, which becomes U+FFFD. */
export function requireStorableText(text: string): void {
  if (text.includes("\0")) throw new InvalidValue("must not contain a NUL character");
  if (!text.isWellFormed()) throw new InvalidValue("must not contain a lone surrogate");
}

/** Compares strings by code point, which is the byte order of UTF-8 and of `COLLATE "C"`. */
export function compareText(left: string, right: string): number {
  if (left === right) return 0;
  const length = Math.min(left.length, right.length);
  for (let i = 0; i < length; i++) {
    const a = left.charCodeAt(i);
    const b = right.charCodeAt(i);
    if (a !== b) return codePointRank(a) - codePointRank(b);
  }
  return left.length - right.length;
}

/** Returns the rank of a UTF-16 code unit: surrogates are last, like code points above U+FFFF. */
function codePointRank(unit: number): number {
  if (unit < 0xd800) return unit;
  return unit < 0xe000 ? unit + 0x2000 : unit - 0x800;
}

function counted(characters: number): string {
  return characters === 1 ? "1 character" : `${characters} characters`;
}

function isLongerThan(text: string, codePoints: number): boolean {
  if (text.length <= codePoints) return false;
  let count = 0;
  for (const _ of text) {
    if (++count > codePoints) return true;
  }
  return false;
}
