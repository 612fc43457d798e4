import { Problem } from "../problem/problem.ts";

/**
 * Minimum length of an anonymous caller's key, in characters. Such a key can hold 128 bits, like a
 * UUID in 36 characters. Many people may share the address of an anonymous caller. Only a key that
 * cannot be guessed protects their responses from each other.
 */
export const minAnonymousKeyLength = 22;

/**
 * Parses the key in an `Idempotency-Key` header. A key is a string of RFC 9651 in quotes, as in the
 * draft of the header. A string without quotes, which most clients send, is also a key. Both
 * spellings are the same key. Throws a 400, also for a short key of an anonymous caller.
 */
export function parseIdempotencyKey(header: string, isAnonymous: boolean): string {
  const quoted = /^"((?:[ !#-[\]-~]|\\["\\])*)"$/.exec(header)?.[1];
  const key = quoted?.replaceAll(/\\(.)/g, "$1") ?? header;
  const isKey = /^[ -~]{1,255}$/.test(key) && (quoted !== undefined || !header.startsWith('"'));
  if (!isKey) throw unusable("it must be 1 to 255 printable ASCII characters");
  if (isAnonymous && key.length < minAnonymousKeyLength) {
    throw unusable(
      `without a user it must be ${minAnonymousKeyLength} characters at least, chosen at random, ` +
        "such as a new UUID",
    );
  }
  return key;
}

function unusable(reason: string): Problem {
  return new Problem("invalid-parameter", `Cannot use this Idempotency-Key: ${reason}`);
}
