import { base64urlLength, decodeBase64url, encodeBase64url } from "../../protocol/byte_text.ts";
import { createHmacSha256 } from "../../protocol/hmac_sha256.ts";
import { fingerprintWordCount } from "./request_fingerprint.ts";

/** The content of a proof-of-work challenge without its random bytes. */
export interface PowChallenge {
  readonly difficulty: number;
  readonly expiresAtMs: number;
  /** The fingerprint of the request, from `createFingerprint`: only its first six words. */
  readonly fingerprint: Int32Array;
}

/** The content of a verified token. `fingerprint` is overwritten by the next call of `open`. */
export interface OpenedToken extends PowChallenge {
  /** The token's authentication code, by which the challenge is identified. */
  readonly id: string;
}

/** Converts proof-of-work challenges to tokens, and tokens to challenges. */
export interface ChallengeTokens {
  /** Creates a token. `random` are 16 random bytes, which make the token unique. */
  seal(challenge: PowChallenge, random: Uint8Array): string;
  /** Returns the content of a token, or why it is invalid. */
  open(token: string): OpenedToken | "malformed" | "forged";
}

/**
 * Creates challenge tokens: `base64url(payload).base64url(HMAC-SHA-256(secret, payload))`. The
 * payload has 48 bytes, i.e. one block of the HMAC: version, difficulty, expiry (6 bytes,
 * milliseconds), random bytes, fingerprint. Each field has a fixed place, so that no byte can
 * belong to another field. The first secret signs, and all secrets verify.
 */
export function createChallengeTokens(secrets: readonly string[]): ChallengeTokens {
  const keys = secrets.map((secret) => createHmacSha256(new TextEncoder().encode(secret)));
  const [sealing] = keys;
  if (sealing === undefined) throw new Error("Cannot seal challenges without a secret");
  const payload = new Uint8Array(payloadBytes);
  const view = new DataView(payload.buffer);
  const code = new Uint8Array(codeBytes);
  const fingerprint = new Int32Array(fingerprintWordCount);

  return {
    seal({ difficulty, expiresAtMs, fingerprint }, random) {
      view.setUint8(0, version);
      view.setUint8(1, difficulty);
      view.setUint16(2, Math.floor(expiresAtMs / 2 ** 32));
      view.setUint32(4, expiresAtMs % 2 ** 32);
      payload.set(random, 8);
      for (let i = 0; i < fingerprintWordCount; i++) {
        view.setInt32(fingerprintStart + 4 * i, fingerprint[i]!);
      }
      return `${encodeBase64url(payload)}.${encodeBase64url(sealing.sign(payload))}`;
    },
    open(token) {
      const isToken = token.length === challengeTokenLength && token[payloadLength] === "." &&
        decodeBase64url(token, 0, payload) && decodeBase64url(token, payloadLength + 1, code);
      if (!isToken) return "malformed";
      if (!keys.some((key) => key.verify(payload, code))) return "forged";
      // The authentication code is right, so another version of the service created the token.
      if (payload[0] !== version) return "malformed";
      for (let i = 0; i < fingerprintWordCount; i++) {
        fingerprint[i] = view.getInt32(fingerprintStart + 4 * i);
      }
      return {
        difficulty: view.getUint8(1),
        expiresAtMs: view.getUint16(2) * 2 ** 32 + view.getUint32(4),
        fingerprint,
        id: token.slice(payloadLength + 1),
      };
    },
  };
}

const version = 1;

/** Number of random bytes in a challenge token. They make every challenge unique. */
export const randomByteCount = 16;

const fingerprintStart = 8 + randomByteCount;
const payloadBytes = fingerprintStart + 4 * fingerprintWordCount;
const codeBytes = 32;
const payloadLength = base64urlLength(payloadBytes);

/** The length of a challenge token, which is the same for all tokens. */
export const challengeTokenLength: number = payloadLength + 1 + base64urlLength(codeBytes);
