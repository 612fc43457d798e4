import { Problem } from "../../problem/problem.ts";
import { powAlgorithm, powHeaders } from "../../protocol/pow_protocol.ts";
import { boundedMap } from "../../runtime/bounded_map.ts";
import { claimOnce } from "../../kv/claim_once.ts";
import type { KeyValue } from "../../kv/key_value.ts";
import type { PowRefusal } from "../../runtime/observation.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import { type CheckSolution, createSolutionCheck, type PowSolution } from "./check_solution.ts";
import { createFingerprint, type FingerprintedRequest } from "./request_fingerprint.ts";
import { createChallengeTokens, randomBytes } from "./challenge_token.ts";

/** The service's side of proof of work: issues challenges and takes each solution once. */
export interface ProofOfWork {
  /** The headers of a 428: a fresh challenge for this request. */
  issueChallenge(facts: FingerprintedRequest, difficulty: number): Record<string, string>;
  /** Checks without the store, and uses nothing up. */
  readonly checkSolution: CheckSolution;
  /**
   * Checks a solution and uses it up: null when it is good for this request at this difficulty, now
   * and not again. Rejects with a `StoreError` when the store does not say whether it was used.
   */
  verifySolution(
    headers: Headers,
    facts: FingerprintedRequest,
    difficulty: number,
  ): Promise<PowRefusal | null>;
  /** Returns when a solution was taken; else throws `proof-of-work-required` with a challenge. */
  requireSolution(headers: Headers, facts: FingerprintedRequest, difficulty: number): Promise<void>;
}

/** What the service's side of proof of work is made with. */
export interface ProofOfWorkOptions {
  /** The first signs, all verify. */
  readonly secrets: readonly string[];
  readonly challengeTtlMs: number;
  /** Records the solutions used, for all processes of the service. */
  readonly store: KeyValue;
  readonly runtime: Runtime;
}

/** Makes the service's side of proof of work; docs/proof-of-work.md describes the protocol. */
export function createProofOfWork(parts: ProofOfWorkOptions): ProofOfWork {
  const { challengeTtlMs, store, runtime } = parts;
  const { clock } = runtime;
  const tokens = createChallengeTokens(parts.secrets);
  const fingerprintOf = createFingerprint();
  const checkSolution = createSolutionCheck({ tokens, fingerprintOf, challengeTtlMs, clock });
  // A flood of replays is answered from memory, without the store.
  const used = boundedMap<string, true>(20_000);

  function issueChallenge(facts: FingerprintedRequest, difficulty: number): Record<string, string> {
    const expiresAtMs = clock.now() + challengeTtlMs;
    const challenge = { difficulty, expiresAtMs, fingerprint: fingerprintOf(facts) };
    return {
      [powHeaders.challengeType]: "pow",
      [powHeaders.challenge]: tokens.seal(challenge, runtime.random.bytes(randomBytes)),
      [powHeaders.difficulty]: String(difficulty),
      [powHeaders.algorithm]: powAlgorithm,
    };
  }

  async function verifySolution(
    headers: Headers,
    facts: FingerprintedRequest,
    difficulty: number,
  ): Promise<PowRefusal | null> {
    const solution = checkSolution(headers, facts, difficulty);
    if (typeof solution === "string") return solution;
    if (used.get(solution.id) === true) return "replayed";
    // A store that fails throws here, before the solution is marked as used: a later try may succeed.
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
      const reason = await verifySolution(headers, facts, difficulty);
      if (reason === null) return;
      if (reason !== "absent") runtime.observe({ kind: "proof_of_work_refused", reason });
      // One answer for all reasons, so that an attacker does not learn which check failed.
      throw new Problem("proof-of-work-required", "This request needs proof of work", {
        headers: issueChallenge(facts, difficulty),
      });
    },
  };
}
