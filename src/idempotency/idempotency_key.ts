import { invalidParameter, type Problem } from "../problem/problem.ts";

/** Minimum length (128 bits). Strangers that share an address must not guess each other's keys. */
export const minAnonymousKeyLength = 22;

/**
 * Parses an `Idempotency-Key` header: a string in quotes (IETF draft, RFC 9651), or as most clients
 * send it, without quotes. Throws a 400 for an invalid key, or a short key of an anonymous caller.
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
