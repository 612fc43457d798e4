import { Problem } from "../../problem/problem.ts";
import { powAlgorithm, powHeaders } from "../../protocol/pow_protocol.ts";
import { boundedMap } from "../../runtime/bounded_map.ts";
import { claimKey, type KeyValue } from "../../kv/key_value.ts";
import { StoreError } from "../../kv/store_error.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import { createSolutionCheck, type PowSolution } from "./check_solution.ts";
import { type FingerprintedRequest, fingerprintOf } from "./request_fingerprint.ts";
import { createChallengeTokens, randomByteCount } from "./challenge_token.ts";
import type { ResolvedAbuseProtection } from "../abuse_protection_options.ts";
import type { RequestBudget } from "../budget/request_budget.ts";
import type { GuardedRequest, PowGate } from "../operation_protection.ts";
import { callTrustHook, difficultyOverBudget } from "./difficulty.ts";

export type ProofOfWork = ReturnType<typeof createProofOfWork>;

interface UsedSolution {
  /** After a refusal, lets the client use the solution again, up to {@link maxReturns} times. */
  returnUnused(): Promise<void>;
}

export interface ProofOfWorkOptions {
  readonly secrets: readonly string[];
  readonly challengeTtlMs: number;
  readonly store: KeyValue;
  readonly runtime: Runtime;
}

/** Creates the functions that issue challenges and check solutions (docs/proof-of-work.md). */
export function createProofOfWork(parts: ProofOfWorkOptions) {
  const { challengeTtlMs, store, runtime } = parts;
  const { clock } = runtime;
  const tokens = createChallengeTokens(parts.secrets);
  const checkSolution = createSolutionCheck({ tokens, challengeTtlMs, clock });
  const known = boundedMap<string, {
    /** Monotonic time until which the solution counts as used, in milliseconds. */
    readonly usedUntil: number;
    readonly returns: number;
  }>(20_000);

  function issueChallenge(facts: FingerprintedRequest, difficulty: number): Record<string, string> {
    const expiresAtMs = clock.now() + challengeTtlMs;
    const challenge = { difficulty, expiresAtMs, fingerprint: fingerprintOf(facts) };
    return {
      [powHeaders.challengeType]: "pow",
      [powHeaders.challenge]: tokens.seal(challenge, runtime.random.bytes(randomByteCount)),
      [powHeaders.difficulty]: String(difficulty),
      [powHeaders.algorithm]: powAlgorithm,
    };
  }

  async function take({ id, claimUntilMs }: PowSolution): Promise<UsedSolution | "replayed"> {
    if (clock.elapsedMs() < (known.get(id)?.usedUntil ?? 0)) return "replayed";
    // Reads the latest `returns`, because another request can have increased the number.
    const remember = (usedUntil: number, more = 0) =>
      known.set(id, { usedUntil, returns: (known.get(id)?.returns ?? 0) + more });
    // If the store fails here, the solution stays unused, and the client can send it again.
    const claim = await claimKey(store, ["pow", id], claimUntilMs - clock.now());
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
          // If the store fails, the solution stays used, and the client gets another challenge.
          if (!(error instanceof StoreError)) throw error;
        }
      },
    };
  }

  return {
    issueChallenge,
    checkSolution,
    /** Marks a valid unused solution as used. Otherwise throws `proof-of-work-required`. */
    async requireSolution(headers: Headers, facts: FingerprintedRequest, difficulty: number) {
      const solution = checkSolution(headers, facts, difficulty);
      const taken = typeof solution === "string" ? solution : await take(solution);
      if (typeof taken !== "string") return taken;
      const reason = taken;
      if (reason !== "absent") runtime.observe({ kind: "proof_of_work_refused", reason });
      // The response is the same for all reasons, so that an attacker does not learn which applies.
      throw new Problem("proof-of-work-required", "This request needs proof of work", {
        headers: issueChallenge(facts, difficulty),
      });
    },
  };
}

/** How long this process refuses a used solution without reading the store, in ms. */
const replayMemoryMs = 1_000;

const maxReturns = 2;

export interface RequestProofOfWorkOptions {
  readonly abuse: ResolvedAbuseProtection;
  readonly runtime: Runtime;
  /** Created at the first use, because a service without proof of work needs no secret. */
  proofOfWork(): ProofOfWork;
}

export class RequestProofOfWork {
  readonly #options: RequestProofOfWorkOptions;
  readonly #guarded: GuardedRequest;
  /** The solution that this request has used. Later checks test only if it is difficult enough. */
  #taken: UsedSolution | null = null;

  constructor(options: RequestProofOfWorkOptions, guarded: GuardedRequest) {
    this.#options = options;
    this.#guarded = guarded;
  }

  /** Throws a 428 if a needed solution is missing. `overflow`: true if the budget is used up. */
  async require(
    demand: { readonly gate: boolean; readonly overflow: boolean },
    gates: readonly PowGate[],
    budget: RequestBudget | null,
  ): Promise<void> {
    let difficulty = 0;
    for (const gate of demand.gate ? gates : []) {
      difficulty = Math.max(difficulty, await this.#gateDifficulty(gate));
    }
    if (demand.overflow) {
      difficulty = Math.max(difficulty, await this.#difficultyOverBudget(budget));
    }
    if (difficulty === 0) return;
    const { request: { method, headers }, target: { path, query }, user } = this.#guarded;
    const body = await this.#guarded.body();
    const facts: FingerprintedRequest = { method, path, query, body, userId: user?.id ?? null };
    const pow = this.#options.proofOfWork();
    const isProved = this.#taken !== null &&
      typeof pow.checkSolution(headers, facts, difficulty) !== "string";
    if (isProved) return;
    this.#taken = await pow.requireSolution(headers, facts, difficulty);
  }

  async returnUnused(): Promise<void> {
    await this.#taken?.returnUnused();
  }

  async #gateDifficulty({ difficulty: base, trust }: PowGate): Promise<number> {
    const { user, request } = this.#guarded;
    const question = { user, request, reason: "endpoint", deficit: 0, base } as const;
    return await callTrustHook(trust, question, this.#options.runtime);
  }

  async #difficultyOverBudget(budget: RequestBudget | null): Promise<number> {
    if (budget === null) return 0;
    const { difficulty, trust } = this.#options.abuse.pow();
    const { deficit, capacity } = budget;
    const base = difficultyOverBudget(difficulty, deficit, capacity);
    const { user, request } = this.#guarded;
    const question = { user, request, reason: "budget", deficit, base } as const;
    return await callTrustHook(trust, question, this.#options.runtime);
  }
}
