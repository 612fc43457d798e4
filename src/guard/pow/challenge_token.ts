import { Buffer } from "node:buffer";
import { createHmac } from "node:crypto";
import { timingSafeEqual } from "@std/crypto/timing-safe-equal";
import { base64urlLength, decodeBase64url } from "../../protocol/byte_text.ts";
import { fingerprintBytes } from "./request_fingerprint.ts";

export interface PowChallenge {
  readonly difficulty: number;
  readonly expiresAtMs: number;
  readonly fingerprint: Uint8Array;
}

export interface OpenedToken extends PowChallenge {
  /** The token's authentication code, by which the challenge is identified. */
  readonly id: string;
}

export type ChallengeTokens = ReturnType<typeof createChallengeTokens>;

/**
 * Creates challenge tokens: `base64url(payload).base64url(HMAC-SHA-256(secret, payload))`. The
 * payload fits in a block of SHA-256: version, difficulty, expiry (6 bytes, milliseconds), random
 * bytes, fingerprint. Each has a fixed place. The first secret signs, and all verify.
 */
export function createChallengeTokens(secrets: readonly string[]) {
  const [sealing] = secrets;
  if (sealing === undefined) throw new Error("Cannot seal challenges without a secret");
  return {
    /** Creates a token. `random` are 16 random bytes, which make the token unique. */
    seal({ difficulty, expiresAtMs, fingerprint }: PowChallenge, random: Uint8Array) {
      const payload = Buffer.alloc(payloadBytes);
      payload.set([version, difficulty]);
      payload.writeUIntBE(Math.floor(expiresAtMs), 2, 6);
      payload.set(random, 8);
      payload.set(fingerprint, fingerprintStart);
      return `${payload.toString("base64url")}.${codeOf(payload, sealing).toString("base64url")}`;
    },
    open(token: string): OpenedToken | "malformed" | "forged" {
      const [payload, code] = [Buffer.alloc(payloadBytes), Buffer.alloc(codeBytes)];
      const isToken = token.length === challengeTokenLength && token[payloadLength] === "." &&
        decodeBase64url(token, 0, payload) && decodeBase64url(token, payloadLength + 1, code);
      if (!isToken) return "malformed";
      if (!secrets.some((secret) => timingSafeEqual(codeOf(payload, secret), code))) {
        return "forged";
      }
      // The authentication code is right, so another version of the service created the token.
      if (payload[0] !== version) return "malformed";
      return {
        difficulty: payload.readUInt8(1),
        expiresAtMs: payload.readUIntBE(2, 6),
        fingerprint: payload.subarray(fingerprintStart),
        id: token.slice(payloadLength + 1),
      };
    },
  };
}

function codeOf(payload: Uint8Array, secret: string): Buffer {
  return createHmac("sha256", secret).update(payload).digest();
}

const version = 1;

export const randomByteCount = 16;

const fingerprintStart = 8 + randomByteCount;
const payloadBytes = fingerprintStart + fingerprintBytes;
const codeBytes = 32;
const payloadLength = base64urlLength(payloadBytes);

export const challengeTokenLength: number = payloadLength + 1 + base64urlLength(codeBytes);
