import { Buffer } from "node:buffer";
import { createHash } from "node:crypto";

/** The parts of a request to which its proof of work is bound. A retry must have the same parts. */
export interface FingerprintedRequest {
  readonly method: string;
  /** The path before decoding, because different paths could be equal after decoding. */
  readonly path: string;
  readonly query: string;
  readonly body: Uint8Array;
  readonly userId: string | null;
}

/** Length of a fingerprint in bytes. 192 bits are too many for a collision search. */
export const fingerprintBytes = 24;

/** Returns a request's fingerprint. Hashes each part with its length, so that parts cannot mix. */
export function fingerprintOf(request: FingerprintedRequest): Uint8Array {
  const { method, path, query, body, userId } = request;
  // JSON distinguishes `null` from any id, and a lone surrogate from U+FFFD (unlike UTF-8).
  const strings = [method, path, query, JSON.stringify(userId)].map((one) => Buffer.from(one));
  const parts = [...strings, sha256(body)].flatMap((field) => {
    const length = Buffer.alloc(4);
    length.writeUInt32BE(field.length);
    return [length, field];
  });
  return sha256(Buffer.concat(parts)).subarray(0, fingerprintBytes);
}

function sha256(bytes: Uint8Array): Buffer {
  return createHash("sha256").update(bytes).digest();
}
