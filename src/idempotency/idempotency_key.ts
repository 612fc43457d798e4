import { Problem } from "../problem/problem.ts";

/**
 * The shortest Idempotency-Key of an anonymous caller: it can hold 128 bits, as a UUID does in 36
 * characters. Callers without a user differ in their address alone, which many people share: only a
 * key that cannot be guessed, and is not chosen twice, keeps one of them from being sent the answer
 * of another.
 */
export const minAnonymousKeyLength = 22;

/**
 * Parses the key in an `Idempotency-Key` header: a string of RFC 9651 in its quotes, as the draft
 * of the header has it, or without quotes, as most clients send it. Both spellings are the same
 * key. Throws a 400, also for a short key of an anonymous caller.
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
