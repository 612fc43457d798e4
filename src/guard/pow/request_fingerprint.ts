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

/** Length of a fingerprint in bytes. An attacker cannot find two inputs with the same 192 bits. */
export const fingerprintBytes = 24;

/** Hashes a length before each part, so that different requests never hash the same bytes. */
export function fingerprintOf(request: FingerprintedRequest): Uint8Array {
  const { method, path, query, body, userId } = request;
  // In JSON, `null` differs from any id. UTF-8 alone would encode a lone surrogate like U+FFFD.
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
