/**
 * Reads base64url without padding (RFC 4648, 5) from a part of a text into `bytes`, and says
 * whether that part is the one canonical spelling of exactly so many bytes. The platform's decoders
 * take up to four spellings of the same bytes, blanks and padding: whoever counts uses by the text
 * would count one thing several times.
 */
export function readBase64url(text: string, from: number, bytes: Uint8Array): boolean {
  let at = from;
  let bits = 0;
  let count = 0;
  for (let i = 0; i < bytes.length; i++) {
    while (count < 8) {
      const value = values[text.charCodeAt(at++)] ?? unknown;
      if (value === unknown) return false;
      bits = bits << 6 | value;
      count += 6;
    }
    count -= 8;
    bytes[i] = bits >>> count;
    bits &= (1 << count) - 1;
  }
  return bits === 0;
}

/** Characters that so many bytes take. */
export function base64urlLength(bytes: number): number {
  return Math.ceil(bytes * 4 / 3);
}

/** Base64url without padding. */
export function toBase64url(bytes: Uint8Array): string {
  return bytes.toBase64({ alphabet: "base64url", omitPadding: true });
}

/** The letters, in the order of their values. */
export const base64urlLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

const unknown = 255;

const values: Uint8Array = Uint8Array.from({ length: 128 }, (_, code) => {
  const value = base64urlLetters.indexOf(String.fromCharCode(code));
  return value < 0 ? unknown : value;
});
