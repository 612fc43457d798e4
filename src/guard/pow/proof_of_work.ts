import { Problem } from "../../problem/problem.ts";
import { powAlgorithm, powHeaders } from "../../protocol/pow_protocol.ts";
import { boundedMap } from "../../runtime/bounded_map.ts";
import { claimRevocably } from "../../kv/claim_once.ts";
import type { KeyValue } from "../../kv/key_value.ts";
import { StoreError } from "../../kv/store_error.ts";
import type { PowRefusal } from "../../runtime/observation.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import { type CheckSolution, createSolutionCheck } from "./check_solution.ts";
import { createFingerprint, type FingerprintedRequest } from "./request_fingerprint.ts";
import { createChallengeTokens, randomBytes } from "./challenge_token.ts";

/** The service's side of proof of work: issues challenges and accepts each solution once. */
export interface ProofOfWork {
  /** Returns the headers of a 428: a new challenge for this request. */
  issueChallenge(facts: FingerprintedRequest, difficulty: number): Record<string, string>;
  /** Checks a solution without the store, and uses nothing up. */
  readonly checkSolution: CheckSolution;
  /**
   * Verifies a solution and uses it up. Returns null if the solution is valid for this request at
   * this difficulty and unused, otherwise the reason. Rejects with a `StoreError` if the store
   * cannot determine whether the solution was used.
   */
  verifySolution(
    headers: Headers,
    facts: FingerprintedRequest,
    difficulty: number,
  ): Promise<PowRefusal | null>;
  /** Resolves when a solution was accepted; else throws `proof-of-work-required`. */
  requireSolution(
    headers: Headers,
    facts: FingerprintedRequest,
    difficulty: number,
  ): Promise<TakenSolution>;
}

/** A solution of proof of work that is used by a request. */
export interface TakenSolution {
  /**
   * Makes the solution valid again, because the request was refused and did nothing. Has no effect
   * if requests with the solution were refused too often, or if the store does not respond.
   */
  returnUnused(): Promise<void>;
}

/** The options of the service's side of proof of work. */
export interface ProofOfWorkOptions {
  /** The first secret signs, all verify. */
  readonly secrets: readonly string[];
  readonly challengeTtlMs: number;
  /** Records the used solutions for all processes of the service. */
  readonly store: KeyValue;
  readonly runtime: Runtime;
}

/** Creates the service's side of proof of work; docs/proof-of-work.md describes the protocol. */
export function createProofOfWork(parts: ProofOfWorkOptions): ProofOfWork {
  const { challengeTtlMs, store, runtime } = parts;
  const { clock } = runtime;
  const tokens = createChallengeTokens(parts.secrets);
  const fingerprintOf = createFingerprint();
  const checkSolution = createSolutionCheck({ tokens, fingerprintOf, challengeTtlMs, clock });
  const known = boundedMap<string, KnownSolution>(20_000);

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

  async function take(
    headers: Headers,
    facts: FingerprintedRequest,
    difficulty: number,
  ): Promise<TakenSolution | PowRefusal> {
    const solution = checkSolution(headers, facts, difficulty);
    if (typeof solution === "string") return solution;
    const { id, claimUntilMs } = solution;
    if (clock.elapsedMs() < (known.get(id)?.usedUntil ?? 0)) return "replayed";
    // Reads the state when it is written, because another request may have returned the solution
    // in between.
    const remember = (usedUntil: number, more = 0) =>
      known.set(id, { usedUntil, returns: (known.get(id)?.returns ?? 0) + more });
    // If the store fails, this throws before the solution is marked as used. A later attempt may
    // succeed.
    const claim = await claimRevocably(store, ["pow", id], claimUntilMs - clock.now());
    if (claim === null) {
      remember(clock.elapsedMs() + replayMemoryMs);
      return "replayed";
    }
    remember(Infinity);
    return {
      async returnUnused() {
        if ((known.get(id)?.returns ?? 0) >= maxReturns) return;
        try {
          await claim.revoke();
          remember(0, 1);
        } catch (error) {
          // The solution then stays used, and the client gets a new challenge.
          if (!(error instanceof StoreError)) throw error;
        }
      },
    };
  }

  return {
    issueChallenge,
    checkSolution,
    async verifySolution(headers, facts, difficulty) {
      const taken = await take(headers, facts, difficulty);
      return typeof taken === "string" ? taken : null;
    },
    async requireSolution(headers, facts, difficulty) {
      const taken = await take(headers, facts, difficulty);
      if (typeof taken !== "string") return taken;
      const reason = taken;
      if (reason !== "absent") runtime.observe({ kind: "proof_of_work_refused", reason });
      // All reasons have the same response, so that an attacker does not learn which check failed.
      throw new Problem("proof-of-work-required", "This request needs proof of work", {
        headers: issueChallenge(facts, difficulty),
      });
    },
  };
}

/** The information in this process about a solution, used to refuse repeated uses from memory. */
interface KnownSolution {
  /** Time by the monotonic clock, in milliseconds. */
  readonly usedUntil: number;
  /** Number of times the solution was returned. */
  readonly returns: number;
}

/** Time for which a solution that another request holds is not tried again, in milliseconds. */
const replayMemoryMs = 1_000;

/** Number of refused requests that one solution pays for, in addition to the successful one. */
const maxReturns = 2;
