import { createHash } from "node:crypto";
import { createSha256 } from "../../protocol/sha256.ts";

/** The parts of a request to which its proof of work is bound. A retry must have the same ones. */
export interface FingerprintedRequest {
  readonly method: string;
  /** The raw path: after decoding, different paths could be equal. */
  readonly path: string;
  /** The raw query, without the question mark. */
  readonly query: string;
  /** The raw bytes of the body. Empty without a body. */
  readonly body: Uint8Array;
  readonly userId: string | null;
}

/** Length of a fingerprint in 32-bit words: equal 192 bits of two requests cannot be found. */
export const fingerprintWordCount = 6;

/**
 * Creates a function that computes the fingerprint (a hash) of a request. It hashes the length of
 * each field before the field: otherwise bytes could move from the path to the query without
 * changing the hash. The fingerprint is the first part of the result, which the next call
 * overwrites.
 */
export function createFingerprint(): (facts: FingerprintedRequest) => Int32Array {
  const hasher = createSha256();
  const emptyBody = hasher.digest(new Uint8Array());
  const reusable = new Uint8Array(4096);

  return ({ method, path, query, body, userId }) => {
    // As JSON, null differs from all ids, and a lone surrogate from U+FFFD.
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

/** Writes a string as UTF-8. For ASCII, like most request targets, a loop is faster. */
function writeText(text: string, bytes: Uint8Array, at: number): number {
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code > 127) return new TextEncoder().encodeInto(text, bytes.subarray(at)).written;
    bytes[at + i] = code;
  }
  return text.length;
}

/** Writes the length of a field into the bytes before it. Returns the end of the field. */
function closeField(bytes: Uint8Array, start: number, length: number): number {
  for (let i = 0; i < lengthBytes; i++) bytes[start + i] = length >>> 8 * (lengthBytes - 1 - i);
  return start + lengthBytes + length;
}

/** Hashes a long input with `node:crypto`, which is several times faster. */
function hashOf(body: Uint8Array): Uint8Array {
  return createHash("sha256").update(body).digest();
}
