import { hkdfSync } from "node:crypto";

/**
 * Derives a key for one purpose from a secret (HKDF-SHA-256, RFC 5869). A leaked key reveals
 * nothing about other keys or about the secret.
 */
export function deriveKey(secret: string, purpose: "seal" | "etag" | "checkout"): Uint8Array {
  return new Uint8Array(hkdfSync("sha256", secret, "", `@svc/resource-api ${purpose}`, 32));
}
