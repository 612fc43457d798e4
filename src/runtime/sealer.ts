import { Buffer } from "node:buffer";
import { createCipheriv, createDecipheriv } from "node:crypto";
import { boundedMap } from "./bounded_map.ts";
import { deriveKey } from "./derive_key.ts";
import type { Random } from "./runtime.ts";

/** Seals texts: encrypts and authenticates them, for all processes with the same secret. */
export interface Sealer {
  /** The sealed text, base64url. Only {@link open} with the same `context` reads it. */
  seal(text: string, context: string): string;
  /** The text, or null for anything that was not sealed with these secrets for this context. */
  open(sealed: string, context: string): string | null;
}

const nonceBytes = 12;
const tagBytes = 16;
const maxSealedLength = 16_384;

/**
 * Makes a sealer: AES-256-GCM (NIST SP 800-38D) with keys derived from the secrets by HKDF (RFC
 * 5869): the first secret seals, all open. Synchronous on purpose: Web Crypto costs ten times as
 * much on small texts.
 */
export function createSealer(secrets: readonly string[], random: Random): Sealer {
  const keys = secrets.map((secret) => deriveKey(secret, "seal"));
  const [sealingKey] = keys;
  if (sealingKey === undefined) throw new Error("Cannot seal without a secret");
  // Sealing is the most expensive part of a list, and first pages are requested repeatedly.
  const sealedBefore = boundedMap<string, string>(500, {
    maxBytes: 1024 * 1024,
    bytesOf: (memo, sealed) => 2 * (memo.length + sealed.length),
  });

  return {
    seal(text, context) {
      const memo = `${context.length} ${context}${text}`;
      const known = sealedBefore.get(memo);
      if (known !== undefined) return known;
      const nonce = random.bytes(nonceBytes);
      const cipher = createCipheriv("aes-256-gcm", sealingKey, nonce);
      cipher.setAAD(Buffer.from(context));
      const parts = [nonce, cipher.update(text, "utf8"), cipher.final(), cipher.getAuthTag()];
      const sealed = Buffer.concat(parts).toString("base64url");
      sealedBefore.set(memo, sealed);
      return sealed;
    },
    open(sealed, context) {
      if (sealed.length > maxSealedLength) return null;
      const bytes = Buffer.from(sealed, "base64url");
      // Base64 has spare bits and ignored characters: only the canonical form is accepted.
      if (bytes.toString("base64url") !== sealed) return null;
      if (bytes.length < nonceBytes + tagBytes) return null;
      for (const key of keys) {
        const text = decrypt(bytes, key, context);
        if (text !== null) return text;
      }
      return null;
    },
  };
}

function decrypt(bytes: Buffer, key: Uint8Array, context: string): string | null {
  const decipher = createDecipheriv("aes-256-gcm", key, bytes.subarray(0, nonceBytes));
  decipher.setAAD(Buffer.from(context));
  decipher.setAuthTag(bytes.subarray(bytes.length - tagBytes));
  try {
    const sealed = bytes.subarray(nonceBytes, bytes.length - tagBytes);
    return decipher.update(sealed, undefined, "utf8") + decipher.final("utf8");
  } catch {
    // The tag does not match: the text was not sealed with this key, which null says.
    return null;
  }
}
