import { Problem } from "../problem/problem.ts";

/**
 * The key in an `Idempotency-Key` header: a string of RFC 9651 in its quotes, as the draft of the
 * header has it, or as it is, as most clients send it. Both spellings are the same key. Throws a 400.
 */
export function readIdempotencyKey(header: string): string {
  const quoted = /^"((?:[ !#-[\]-~]|\\["\\])*)"$/.exec(header)?.[1];
  const key = quoted?.replaceAll(/\\(.)/g, "$1") ?? header;
  const isKey = /^[ -~]{1,255}$/.test(key) && (quoted !== undefined || !header.startsWith('"'));
  if (isKey) return key;
  throw new Problem(
    "invalid-parameter",
    "Cannot use this Idempotency-Key: it must be 1 to 255 printable ASCII characters",
  );
}
