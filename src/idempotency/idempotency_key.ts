import { invalidParameter, type Problem } from "../problem/problem.ts";

/**
 * Minimum length of an anonymous caller's key, in characters: enough for 128 bits. (A UUID has 36
 * characters.) Many people can share an anonymous caller's address, and only a key that cannot be
 * guessed protects their responses from each other.
 */
export const minAnonymousKeyLength = 22;

/**
 * Parses an `Idempotency-Key` header. The IETF draft of this header requires a string of RFC 9651,
 * in quotes. Most clients send the key without quotes, which means the same key. Throws a 400 if
 * the key is invalid, or too short for an anonymous caller.
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
  return invalidParameter(`Cannot use this Idempotency-Key: ${reason}`);
}
