import { Buffer } from "node:buffer";
import { createHash } from "node:crypto";
import { hasLeadingZeroBits, maxNonceLength, powHeaders } from "../../protocol/pow_protocol.ts";
import type { Clock, PowRefusal } from "../../runtime/runtime.ts";
import { maxDifficulty } from "./difficulty.ts";
import { type FingerprintedRequest, fingerprintOf } from "./request_fingerprint.ts";
import type { ChallengeTokens } from "./challenge_token.ts";

/** Returns a valid solution, or the reason for refusal. Does not check if it was used before. */
export type CheckSolution = (
  headers: Headers,
  facts: FingerprintedRequest,
  difficulty: number,
) => PowSolution | PowRefusal;

/** A valid solution that is not marked as used yet. */
export interface PowSolution {
  /** The id of the challenge. A claim of this id uses up the challenge with all its solutions. */
  readonly id: string;
  /** Time until which the claim must be kept, in milliseconds since 1970. */
  readonly claimUntilMs: number;
}

export interface SolutionCheckOptions {
  readonly tokens: ChallengeTokens;
  readonly challengeTtlMs: number;
  readonly clock: Clock;
}

/** How much the clocks of two processes can differ, in milliseconds. */
const skewMs = 5_000;

/** How long a claim is kept after its token has expired, in ms, because clocks may differ. */
const claimMarginMs = 60_000;

export function createSolutionCheck(parts: SolutionCheckOptions): CheckSolution {
  const { tokens, challengeTtlMs, clock } = parts;
  return (headers, facts, difficulty) => {
    const token = headers.get(powHeaders.challenge);
    const nonce = headers.get(powHeaders.nonce);
    if (token === null && nonce === null) return "absent";
    // The values of a header that was sent twice are joined by a comma, which is invalid here.
    if (token === null || nonce === null || !isNonce(nonce)) return "malformed";
    const opened = tokens.open(token);
    if (typeof opened === "string") return opened;
    if (opened.difficulty > maxDifficulty) return "malformed";
    const now = clock.now();
    if (now > opened.expiresAtMs + skewMs) return "expired";
    // No token is valid for so long: its expiry has a wrong unit, or a clock is wrong.
    if (opened.expiresAtMs > now + challengeTtlMs + skewMs) return "malformed";
    if (opened.difficulty < difficulty) return "too-easy";
    if (Buffer.compare(opened.fingerprint, fingerprintOf(facts)) !== 0) return "other-request";
    const digest = createHash("sha256").update(`${token}:${nonce}`).digest();
    if (!hasLeadingZeroBits(digest, opened.difficulty)) return "unsolved";
    return { id: opened.id, claimUntilMs: opened.expiresAtMs + claimMarginMs };
  };
}

function isNonce(text: string): boolean {
  return text.length <= maxNonceLength && /^[\w-]+$/.test(text);
}
