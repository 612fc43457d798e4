/** The limits of each line in newline-delimited JSON. */
export interface PlainJsonLimits {
  /** Maximum number of arrays and objects, which also limits the nesting depth. */
  readonly levels: number;
  /** Maximum number of colons, which also limits the number of members. */
  readonly names: number;
}

/**
 * Returns true if `JSON.parse` certainly reads each line of UTF-8 exactly, and no line exceeds the
 * limits. False means that this is unknown, because each byte is looked at only once.
 */
export function isPlainJson(bytes: Uint8Array, { levels, names }: PlainJsonLimits): boolean {
  let digits = 0;
  let opened = 0;
  let named = 0;
  for (let at = 0; at < bytes.length; at++) {
    switch (classes[bytes[at] ?? 0]) {
      case other:
        digits = 0;
        break;
      case digit:
        if (++digits === maxDigits) return false;
        break;
      case point:
        break;
      case colon:
        digits = 0;
        if (++named > names) return false;
        break;
      case opening:
        digits = 0;
        if (++opened > levels) return false;
        break;
      case lineFeed:
        digits = opened = named = 0;
        break;
      case backslash:
        digits = 0;
        // Deno 2.9 misreads a member name that is one escaped character.
        if (bytes[at - 1] === quote) return false;
        break;
      case exponent:
        if (digits > 0 && mayFollowExponent(bytes[at + 1] ?? 0)) return false;
        digits = 0;
        break;
    }
  }
  return true;
}

/** Maximum digits of a number, without the point. Doubles represent so many digits exactly. */
const maxDigits = 15;

const quote = 34;

function mayFollowExponent(byte: number): boolean {
  return classes[byte] === digit || byte === "+".charCodeAt(0) || byte === "-".charCodeAt(0);
}

const [other, digit, point, colon, opening, lineFeed, backslash, exponent] = [
  ...[0, 1, 2, 3, 4, 5, 6, 7] as const,
];

const classes: Readonly<Uint8Array> = Uint8Array.from({ length: 256 }, (_, byte) => {
  const character = String.fromCharCode(byte);
  if (/\d/.test(character)) return digit;
  switch (character) {
    case ".":
      return point;
    case ":":
      return colon;
    case "[":
    case "{":
      return opening;
    case "\n":
      return lineFeed;
    case "\\":
      return backslash;
    case "e":
    case "E":
      return exponent;
    default:
      return other;
  }
});
