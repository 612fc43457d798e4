import { Buffer } from "node:buffer";
import { createCipheriv, createDecipheriv } from "node:crypto";
import { boundedMap } from "./bounded_map.ts";
import { deriveKey } from "./derive_key.ts";
import type { Random } from "./runtime.ts";

/** Encrypts and authenticates strings. Any process with the secret can open a sealed string. */
export interface Sealer {
  /** Returns the sealed string in base64url, for {@link open} with the same `context`. */
  seal(text: string, context: string): string;
  /** Returns the original string, or null if it was not sealed with these secrets and `context`. */
  open(sealed: string, context: string): string | null;
}

const nonceBytes = 12;
const tagBytes = 16;
const maxSealedLength = 16_384;

/**
 * Creates a sealer with AES-256-GCM (NIST SP 800-38D) and keys by HKDF (RFC 5869). The first secret
 * seals, all can open. Web Crypto would be ten times slower for small strings.
 */
export function createSealer(secrets: readonly string[], random: Random): Sealer {
  const keys = secrets.map((secret) => Buffer.from(deriveKey(secret, "seal")));
  const [sealingKey] = keys;
  if (sealingKey === undefined) throw new Error("Cannot seal without a secret");
  const nextNonce = nonces(random);
  // Sealing is the most expensive part of a list request, so sealed strings are cached.
  const sealedBefore = boundedMap<string, string>(2_000, {
    maxBytes: 1024 * 1024,
    bytesOf: (memo, sealed) => 2 * (memo.length + sealed.length),
  });
  const contexts = boundedMap<string, Buffer>(100);

  function contextBytes(context: string): Buffer {
    const known = contexts.get(context);
    if (known !== undefined) return known;
    const bytes = Buffer.from(context);
    contexts.set(context, bytes);
    return bytes;
  }

  return {
    seal(text, context) {
      const memo = `${context.length} ${context}${text}`;
      const known = sealedBefore.get(memo);
      if (known !== undefined) return known;
      const nonce = nextNonce();
      const cipher = createCipheriv("aes-256-gcm", sealingKey, nonce);
      cipher.setAAD(contextBytes(context));
      const encrypted = cipher.update(text, "utf8");
      // GCM has no final block, but this call computes the tag.
      cipher.final();
      const sealed = Buffer.concat([nonce, encrypted, cipher.getAuthTag()]).toString("base64url");
      sealedBefore.set(memo, sealed);
      return sealed;
    },
    open(sealed, context) {
      if (sealed.length > maxSealedLength) return null;
      const bytes = Buffer.from(sealed, "base64url");
      // Accepts one spelling only: other base64 strings would decode to the same bytes.
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

/** One call of the random source creates this many nonces, because each call is slow. */
const pooledNonces = 256;

function nonces(random: Random): () => Buffer {
  let pool = Buffer.alloc(0);
  let at = 0;
  return () => {
    if (at === pool.length) {
      pool = Buffer.from(random.bytes(nonceBytes * pooledNonces));
      at = 0;
    }
    at += nonceBytes;
    return pool.subarray(at - nonceBytes, at);
  };
}

function decrypt(bytes: Buffer, key: Buffer, context: string): string | null {
  const decipher = createDecipheriv("aes-256-gcm", key, bytes.subarray(0, nonceBytes));
  decipher.setAAD(Buffer.from(context));
  decipher.setAuthTag(bytes.subarray(bytes.length - tagBytes));
  try {
    const sealed = bytes.subarray(nonceBytes, bytes.length - tagBytes);
    return decipher.update(sealed, undefined, "utf8") + decipher.final("utf8");
  } catch {
    return null;
  }
}
