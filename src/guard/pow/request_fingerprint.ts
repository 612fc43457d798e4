import { createHash } from "node:crypto";
import { createSha256 } from "../../protocol/sha256.ts";

/** What a challenge is bound to. */
export interface FingerprintedRequest {
  readonly method: string;
  /** Raw, from the request target: a decoded path would make two of them one. */
  readonly path: string;
  /** Raw, without the question mark. */
  readonly query: string;
  /** As it came; empty where there is none. */
  readonly body: Uint8Array;
  /** Null for an anonymous caller. */
  readonly userId: string | null;
}

/** Words of a fingerprint: 192 bits, so that no two requests are found that share one. */
export const fingerprintWords = 6;

/**
 * Makes the function that takes a request's fingerprint. Every field is hashed behind its length:
 * joined without, bytes could be moved from the path into the query and leave the hash as it is.
 * The answer begins with the fingerprint, and the next call overwrites it.
 */
export function createFingerprint(): (facts: FingerprintedRequest) => Int32Array {
  const hasher = createSha256();
  const emptyBody = hasher.digest(new Uint8Array());
  const usual = new Uint8Array(4096);

  return ({ method, path, query, body, userId }) => {
    // As JSON, null is no user's id, and a lone surrogate is not the character that replaces it.
    const user = JSON.stringify(userId);
    const units = method.length + path.length + query.length + user.length;
    const needed = 3 * units + emptyBody.length + 5 * lengthBytes;
    const bytes = needed <= usual.length ? usual : new Uint8Array(needed);
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

/** UTF-8. Targets are ASCII, which needs no call into the platform's encoder. */
function writeText(text: string, bytes: Uint8Array, at: number): number {
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code > 127) return new TextEncoder().encodeInto(text, bytes.subarray(at)).written;
    bytes[at + i] = code;
  }
  return text.length;
}

/** Writes the length in front of a field that stands there already; gives the field's end. */
function closeField(bytes: Uint8Array, start: number, length: number): number {
  for (let i = 0; i < lengthBytes; i++) bytes[start + i] = length >>> 8 * (lengthBytes - 1 - i);
  return start + lengthBytes + length;
}

/** The platform's hash: bodies are long, and there it is several times as fast as ours. */
function hashOf(body: Uint8Array): Uint8Array {
  return createHash("sha256").update(body).digest();
}
