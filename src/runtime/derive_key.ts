import { hkdfSync } from "node:crypto";

/**
 * A key for one purpose, derived from a secret (HKDF-SHA-256, RFC 5869): what one of them gives
 * away says nothing about the others, nor about the secret.
 */
export function deriveKey(secret: string, purpose: "seal" | "etag"): Uint8Array {
  return new Uint8Array(hkdfSync("sha256", secret, "", `@svc/resource-api ${purpose}`, 32));
}
