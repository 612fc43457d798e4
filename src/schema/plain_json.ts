/** What each line of a text may have so that it counts as plain. */
export interface PlainLimits {
  /** The arrays and objects of a line, which are nested at most so deep. */
  readonly levels: number;
  /** The colons of a line: so many members at most. */
  readonly names: number;
}

/**
 * Whether `JSON.parse` reads each line of a text exactly, and none of them exceeds the limits. Takes
 * one look at each character, where the exact answer takes several: false means that it is not
 * known.
 */
export function isPlainJson(text: string, { levels, names }: PlainLimits): boolean {
  let digits = 0;
  let opened = 0;
  let named = 0;
  let before = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code >= zero && code <= nine) {
      if (++digits === maxDigits) return false;
    } else if (code > nine || code < point) {
      switch (code) {
        case colon:
          if (++named > names) return false;
          break;
        case openBracket:
        case openBrace:
          if (++opened > levels) return false;
          break;
        case lineFeed:
          opened = 0;
          named = 0;
          break;
        case backslash:
          // Deno 2.9 takes a name of one escaped character for another.
          if (before === quote) return false;
          break;
        case upperE:
        case lowerE:
          if (digits > 0 && isExponent(text.charCodeAt(at + 1))) return false;
          break;
      }
      digits = 0;
    }
    before = code;
  }
  return true;
}

/** Of a number, its point included: no double has more digits than 15 in any case. */
const maxDigits = 15;

function isExponent(code: number): boolean {
  return (code >= zero && code <= nine) || code === plus || code === minus;
}

const lineFeed = 10;
const quote = 34;
const plus = 43;
const minus = 45;
const point = 46;
const zero = 48;
const nine = 57;
const colon = 58;
const upperE = 69;
const openBracket = 91;
const backslash = 92;
const lowerE = 101;
const openBrace = 123;
