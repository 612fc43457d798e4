import { createFingerprint, type RequestFacts } from "./fingerprint.ts";
import { hardestDifficulty } from "./difficulty.ts";
import { createPowTokens, randomBytes, tokenLength } from "./pow_token.ts";
import { Problem } from "../problem/problem.ts";
import {
  hasLeadingZeroBits,
  longestNonce,
  powAlgorithm,
  powHeaders,
} from "../protocol/proof_of_work.ts";
import { createSha256 } from "../protocol/sha256.ts";
import { boundedMap } from "../runtime/bounded_map.ts";
import { claimOnce } from "../runtime/claim_once.ts";
import type { KeyValue } from "../runtime/key_value.ts";
import type { PowRefusal } from "../runtime/observation.ts";
import type { Runtime } from "../runtime/runtime.ts";

/** Gives out challenges and takes each solution once. */
export interface ProofOfWork {
  /** The headers of a 428: a fresh challenge for this request. */
  issueChallenge(facts: RequestFacts, difficulty: number): Record<string, string>;
  /** All that can be said of a solution without the store: who it belongs to, or why it is none. */
  checkSolution(
    headers: Headers,
    facts: RequestFacts,
    difficulty: number,
  ): PowSolution | PowRefusal;
  /**
   * Checks a solution and uses it up: null when it is good for this request at this difficulty, now
   * and not again. Rejects with a `StoreError` when the store does not say whether it was used.
   */
  verifySolution(
    headers: Headers,
    facts: RequestFacts,
    difficulty: number,
  ): Promise<PowRefusal | null>;
  /** Returns when a solution was taken; else throws `proof-of-work-required` with a challenge. */
  requireSolution(headers: Headers, facts: RequestFacts, difficulty: number): Promise<void>;
}

/** A solution that holds, before it is claimed. */
export interface PowSolution {
  /** What to claim: one id for each challenge, whichever nonce came with it. */
  readonly id: string;
  /** Until when the claim must be kept. */
  readonly claimUntilMs: number;
}

/** What {@link createProofOfWork} needs. */
export interface PowParts {
  /** The first signs, all verify. */
  readonly secrets: readonly string[];
  readonly challengeTtlMs: number;
  /** Where uses are recorded, for all processes of the service together. */
  readonly store: KeyValue;
  readonly runtime: Runtime;
}

/** The clocks of two instances may be apart by so much. */
const skewMs = 5_000;

/** Nobody takes the token any more, by whichever clock, when its claim is forgotten. */
const claimMarginMs = 60_000;

/** The service's side of proof of work; docs/proof-of-work.md tells the protocol. */
export function createProofOfWork(parts: PowParts): ProofOfWork {
  const { challengeTtlMs, store, runtime } = parts;
  const tokens = createPowTokens(parts.secrets);
  const fingerprintOf = createFingerprint();
  const hasher = createSha256();
  const message = new Uint8Array(tokenLength + 1 + longestNonce);
  // A flood of replays is answered from here, without the store.
  const used = boundedMap<string, true>(20_000);

  function issueChallenge(facts: RequestFacts, difficulty: number): Record<string, string> {
    const challenge = {
      difficulty,
      expiresAtMs: runtime.clock.now() + challengeTtlMs,
      fingerprint: fingerprintOf(facts),
    };
    return {
      [powHeaders.challengeType]: "pow",
      [powHeaders.challenge]: tokens.seal(challenge, runtime.random.bytes(randomBytes)),
      [powHeaders.difficulty]: String(difficulty),
      [powHeaders.algorithm]: powAlgorithm,
    };
  }

  /** The cheapest checks come first, and none of them believes what an earlier one has to prove. */
  function checkSolution(
    headers: Headers,
    facts: RequestFacts,
    difficulty: number,
  ): PowSolution | PowRefusal {
    const token = headers.get(powHeaders.challenge);
    const nonce = headers.get(powHeaders.nonce);
    if (token === null && nonce === null) return "absent";
    // A header that was sent twice arrives joined by a comma, which is in neither alphabet.
    if (token === null || nonce === null || !isNonce(nonce)) return "malformed";
    const opened = tokens.open(token);
    if (typeof opened === "string") return opened;
    if (opened.difficulty > hardestDifficulty) return "malformed";
    if (used.get(opened.id) === true) return "replayed";
    const now = runtime.clock.now();
    if (now > opened.expiresAtMs + skewMs) return "expired";
    // Ours never live that long: seconds were taken for milliseconds, or a clock is wrong.
    if (opened.expiresAtMs > now + challengeTtlMs + skewMs) return "malformed";
    if (opened.difficulty < difficulty) return "too-easy";
    if (!isSame(opened.fingerprint, fingerprintOf(facts))) return "other-request";
    if (!hasLeadingZeroBits(hash(token, nonce), opened.difficulty)) return "unsolved";
    return { id: opened.id, claimUntilMs: opened.expiresAtMs + claimMarginMs };
  }

  function hash(token: string, nonce: string): Int32Array {
    const text = `${token}:${nonce}`;
    for (let i = 0; i < text.length; i++) message[i] = text.charCodeAt(i);
    return hasher.words(message, text.length);
  }

  async function verifySolution(
    headers: Headers,
    facts: RequestFacts,
    difficulty: number,
  ): Promise<PowRefusal | null> {
    const solution = checkSolution(headers, facts, difficulty);
    if (typeof solution === "string") return solution;
    // Only a clear answer counts: what may have been used is not taken, and not refused for good.
    const isFirst = await claim(solution);
    used.set(solution.id, true);
    return isFirst ? null : "replayed";
  }

  function claim({ id, claimUntilMs }: PowSolution): Promise<boolean> {
    return claimOnce(store, ["pow", id], claimUntilMs - runtime.clock.now());
  }

  return {
    issueChallenge,
    checkSolution,
    verifySolution,
    async requireSolution(headers, facts, difficulty) {
      const refusal = await verifySolution(headers, facts, difficulty);
      if (refusal === null) return;
      if (refusal !== "absent") {
        runtime.observe({ kind: "proof_of_work_refused", reason: refusal });
      }
      // One answer for all reasons: which check failed is the attacker's to guess.
      throw new Problem("proof-of-work-required", "This request needs proof of work", {
        headers: issueChallenge(facts, difficulty),
      });
    },
  };
}

function isNonce(text: string): boolean {
  return text.length <= longestNonce && /^[\w-]+$/.test(text);
}

function isSame(one: Uint8Array, other: Uint8Array): boolean {
  return one.every((byte, index) => byte === other[index]);
}
