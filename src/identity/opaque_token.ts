import { createHash } from "node:crypto";
import { timingSafeEqual } from "@std/crypto/timing-safe-equal";
import { decodeBase64url } from "../protocol/base64url.ts";
import { encodeBase64url } from "../protocol/byte_text.ts";
import type { Random } from "../runtime/runtime.ts";

/** 256 bits: no guess succeeds, however many there are. */
const secretBytes = 32;
const secretLength = 43;

/** Makes a token that says nothing: a prefix, by which it is recognized, and random bytes. */
export function makeToken(prefix: string, random: Random): string {
  return prefix + encodeBase64url(random.bytes(secretBytes));
}

/** Returns true if a string is the spelling of such a token: anything else is not looked up. */
export function isToken(text: string, prefix: string): boolean {
  return text.length === prefix.length + secretLength && text.startsWith(prefix) &&
    decodeBase64url(text, prefix.length, new Uint8Array(secretBytes));
}

/**
 * The hash under which a token is stored, so that the store reveals none. Without salt or cost: a
 * secret of 256 bits cannot be guessed from it.
 */
export function hashOfToken(token: string): string {
  return createHash("sha256").update(token).digest("base64url");
}

/** Returns true if two hashes are equal, in a time that does not depend on where they differ. */
export function isSameHash(left: string, right: string): boolean {
  const [a, b] = [encoder.encode(left), encoder.encode(right)];
  // The length of a hash is no secret.
  return a.length === b.length && timingSafeEqual(a, b);
}

const encoder = new TextEncoder();

/** The token of an `Authorization: Bearer` header (RFC 6750, 2.1); null for any other header. */
export function bearerToken(authorization: string | null): string | null {
  if (authorization === null) return null;
  // As nearly all programs write it; an expression costs three times as much.
  if (authorization.startsWith("Bearer ") && !authorization.includes(" ", 7)) {
    return authorization.length > 7 ? authorization.slice(7) : null;
  }
  return /^Bearer +([^ ]+) *$/i.exec(authorization)?.[1] ?? null;
}
