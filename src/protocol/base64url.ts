/**
 * Decodes a part of a string as base64url without padding (RFC 4648, section 5) into `bytes`.
 * Returns true if the part is the canonical spelling of exactly `bytes.length` bytes. The
 * platform's decoders also accept white space, padding and up to four spellings of the same bytes.
 * A single-use token that is recorded as a string could then be used several times.
 */
export function decodeBase64url(text: string, from: number, bytes: Uint8Array): boolean {
  let at = from;
  let i = 0;
  for (; i + 3 <= bytes.length; i += 3, at += 4) {
    const bits = valueAt(text, at) << 18 | valueAt(text, at + 1) << 12 |
      valueAt(text, at + 2) << 6 | valueAt(text, at + 3);
    if (bits < 0) return false;
    bytes[i] = bits >>> 16;
    bytes[i + 1] = bits >>> 8;
    bytes[i + 2] = bits;
  }
  if (i === bytes.length) return true;
  // A last single byte is two letters with four unused bits. Two last bytes are three letters with
  // two unused bits.
  const isOne = i + 1 === bytes.length;
  const third = isOne ? 0 : valueAt(text, at + 2);
  const bits = valueAt(text, at) << 12 | valueAt(text, at + 1) << 6 | third;
  if (bits < 0) return false;
  bytes[i] = bits >>> 10;
  if (!isOne) bytes[i + 1] = bits >>> 2;
  return (bits & (isOne ? 0x3ff : 0x3)) === 0;
}

/** Returns the six bits of a letter, or -1 for another character. A bitwise OR keeps the -1. */
function valueAt(text: string, at: number): number {
  return values[text.charCodeAt(at)] ?? -1;
}

/** Returns the number of base64url characters that encode this many bytes. */
export function base64urlLength(bytes: number): number {
  return Math.ceil(bytes * 4 / 3);
}

/** The letters of base64url, in the order of their values. */
export const base64urlLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

const values: Int8Array = Int8Array.from(
  { length: 128 },
  (_, code) => base64urlLetters.indexOf(String.fromCharCode(code)),
);
