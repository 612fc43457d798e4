import { hkdfSync } from "node:crypto";

/** Derives a key for one purpose (HKDF-SHA-256, RFC 5869). A key does not reveal other keys. */
export function deriveKey(secret: string, purpose: "seal" | "etag" | "checkout"): Uint8Array {
  return new Uint8Array(hkdfSync("sha256", secret, "", `@svc/resource-api ${purpose}`, 32));
}
