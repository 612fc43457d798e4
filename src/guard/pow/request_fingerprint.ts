import { createHash } from "node:crypto";
import { createSha256 } from "../../protocol/sha256.ts";

/** The parts of a request that its fingerprint covers. A retry must have the same parts. */
export interface FingerprintedRequest {
  readonly method: string;
  /** The raw path. Decoding could make two different paths equal. */
  readonly path: string;
  /** The raw query, without the question mark. */
  readonly query: string;
  /** The raw bytes of the body. Empty without a body. */
  readonly body: Uint8Array;
  readonly userId: string | null;
}

/** Length of a fingerprint in 32-bit words. 192 bits are too many for a collision search. */
export const fingerprintWordCount = 6;

/**
 * Creates a function that computes fingerprints of requests. The length of a field is hashed before
 * the field. Otherwise bytes could move from the path to the query without changing the hash. The
 * fingerprint is the first part of the result. The next call overwrites the result.
 */
export function createFingerprint(): (facts: FingerprintedRequest) => Int32Array {
  const hasher = createSha256();
  const emptyBody = hasher.digest(new Uint8Array());
  const reusable = new Uint8Array(4096);

  return ({ method, path, query, body, userId }) => {
    // JSON distinguishes null from any id, and a lone surrogate from U+FFFD.
    const user = JSON.stringify(userId);
    const units = method.length + path.length + query.length + user.length;
    const needed = 3 * units + emptyBody.length + 5 * lengthBytes;
    const bytes = needed <= reusable.length ? reusable : new Uint8Array(needed);
    let end = 0;
    for (const text of [method, path, query, user]) {
      end = closeField(bytes, end, writeText(text, bytes, end + lengthBytes));
    }
    const bodyHash = body.length === 0 ? emptyBody : hashOf(body);
    bytes.set(bodyHash, end + lengthBytes);
    end = closeField(bytes, end, bodyHash.length);
    return hasher.words(bytes, end);
  };
}

const lengthBytes = 4;

/** Writes a string as UTF-8. Request targets are ASCII, for which a loop is faster. */
function writeText(text: string, bytes: Uint8Array, at: number): number {
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code > 127) return new TextEncoder().encodeInto(text, bytes.subarray(at)).written;
    bytes[at + i] = code;
  }
  return text.length;
}

/** Writes the length of a field into the space before it. Returns the end of the field. */
function closeField(bytes: Uint8Array, start: number, length: number): number {
  for (let i = 0; i < lengthBytes; i++) bytes[start + i] = length >>> 8 * (lengthBytes - 1 - i);
  return start + lengthBytes + length;
}

/** Hashes with `node:crypto`, which is several times faster for long inputs. */
function hashOf(body: Uint8Array): Uint8Array {
  return createHash("sha256").update(body).digest();
}
