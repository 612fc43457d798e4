import { createHash } from "node:crypto";
import { decodeBase64url, encodeBase64url } from "../protocol/byte_text.ts";
import type { Random } from "../runtime/runtime.ts";

/** The size of a secret in bytes. A secret of 256 bits cannot be guessed. */
const secretBytes = 32;
const secretLength = 43;

export function makeToken(prefix: string, random: Random): string {
  return prefix + encodeBase64url(random.bytes(secretBytes));
}

/** Returns true if a string has the form of a token. The store looks up only such strings. */
export function isToken(text: string, prefix: string): boolean {
  return text.length === prefix.length + secretLength && text.startsWith(prefix) &&
    decodeBase64url(text, prefix.length, new Uint8Array(secretBytes));
}

/** Hashes a token for the store. 256 random bits need neither a slow hash nor a salt. */
export function hashOfToken(token: string): string {
  return createHash("sha256").update(token).digest("base64url");
}

/** Returns the token of an `Authorization: Bearer` header (RFC 6750, 2.1), or null. */
export function bearerToken(authorization: string | null): string | null {
  if (authorization === null) return null;
  // Most programs send exactly this form. A regular expression would be three times slower.
  if (authorization.startsWith("Bearer ") && !authorization.includes(" ", 7)) {
    return authorization.length > 7 ? authorization.slice(7) : null;
  }
  return /^Bearer +([^ ]+) *$/i.exec(authorization)?.[1] ?? null;
}
