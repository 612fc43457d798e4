import { hkdfSync } from "node:crypto";

/** Derives a purpose's key from a secret (HKDF-SHA-256, RFC 5869). A key reveals no other key. */
export function deriveKey(secret: string, purpose: "seal" | "etag" | "checkout"): Uint8Array {
  return new Uint8Array(hkdfSync("sha256", secret, "", `@svc/resource-api ${purpose}`, 32));
}
