import { hasLeadingZeroBits, maxNonceLength, powHeaders } from "../../protocol/pow_protocol.ts";
import { createSha256 } from "../../protocol/sha256.ts";
import type { PowRefusal } from "../../runtime/observation.ts";
import type { Clock } from "../../runtime/runtime.ts";
import { maxDifficulty } from "./difficulty.ts";
import { type FingerprintedRequest, fingerprintWordCount } from "./request_fingerprint.ts";
import { challengeTokenLength, type ChallengeTokens } from "./challenge_token.ts";

/**
 * Checks a solution without the store. Returns the solution if it is valid for this request and
 * difficulty, and otherwise the reason. Only the store knows if it was used before.
 */
export type CheckSolution = (
  headers: Headers,
  facts: FingerprintedRequest,
  difficulty: number,
) => PowSolution | PowRefusal;

/** A valid solution that is not marked as used yet. */
export interface PowSolution {
  /** The id of the challenge, the same for all its solutions. A claim of the id uses it up. */
  readonly id: string;
  /** How long the claim must be kept, in milliseconds since 1970. */
  readonly claimUntilMs: number;
}

export interface SolutionCheckOptions {
  readonly tokens: ChallengeTokens;
  readonly fingerprintOf: (facts: FingerprintedRequest) => Int32Array;
  readonly challengeTtlMs: number;
  readonly clock: Clock;
}

/** How much the clocks of two processes can differ, in milliseconds. */
const skewMs = 5_000;

/** How much longer than a token its claim is kept, in milliseconds, as clocks may differ. */
const claimMarginMs = 60_000;

/** Creates the function that checks solutions. Only the difficulty in the signed token counts. */
export function createSolutionCheck(parts: SolutionCheckOptions): CheckSolution {
  const { tokens, fingerprintOf, challengeTtlMs, clock } = parts;
  const hasher = createSha256();
  const message = new Uint8Array(challengeTokenLength + 1 + maxNonceLength);

  function hash(token: string, nonce: string): Int32Array {
    write(token, 0);
    message[token.length] = colon;
    write(nonce, token.length + 1);
    return hasher.words(message, token.length + 1 + nonce.length);
  }

  function write(text: string, at: number): void {
    for (let i = 0; i < text.length; i++) message[at + i] = text.charCodeAt(i);
  }

  return (headers, facts, difficulty) => {
    const token = headers.get(powHeaders.challenge);
    const nonce = headers.get(powHeaders.nonce);
    if (token === null && nonce === null) return "absent";
    // Two headers arrive as one with a comma between, which is invalid.
    if (token === null || nonce === null || !isNonce(nonce)) return "malformed";
    const opened = tokens.open(token);
    if (typeof opened === "string") return opened;
    if (opened.difficulty > maxDifficulty) return "malformed";
    const now = clock.now();
    if (now > opened.expiresAtMs + skewMs) return "expired";
    // No token is valid for so long: its expiry has another unit, or a clock is wrong.
    if (opened.expiresAtMs > now + challengeTtlMs + skewMs) return "malformed";
    if (opened.difficulty < difficulty) return "too-easy";
    if (!isSame(opened.fingerprint, fingerprintOf(facts))) return "other-request";
    if (!hasLeadingZeroBits(hash(token, nonce), opened.difficulty)) return "unsolved";
    return { id: opened.id, claimUntilMs: opened.expiresAtMs + claimMarginMs };
  };
}

const colon = 0x3a;

function isNonce(text: string): boolean {
  return text.length <= maxNonceLength && /^[\w-]+$/.test(text);
}

function isSame(one: Int32Array, other: Int32Array): boolean {
  for (let i = 0; i < fingerprintWordCount; i++) if (one[i] !== other[i]) return false;
  return true;
}
