import type { Runtime } from "../../runtime/runtime.ts";
import type { ResolvedAbuseProtection } from "../abuse_protection_options.ts";
import type { RequestBudget } from "../budget/request_budget.ts";
import type { GuardedRequest } from "../guarded_request.ts";
import type { PowGate } from "../operation_protection.ts";
import { callTrustHook, difficultyOverBudget } from "./difficulty.ts";
import type { ProofOfWork, UsedSolution } from "./proof_of_work.ts";
import type { FingerprintedRequest } from "./request_fingerprint.ts";

export interface RequestProofOfWorkOptions {
  readonly abuse: ResolvedAbuseProtection;
  readonly runtime: Runtime;
  /** Created at the first use, because a service without proof of work needs no secret. */
  proofOfWork(): ProofOfWork;
}

/** Why proof of work is required: by the operation, by a used-up budget, or both. */
export interface WorkReason {
  readonly gate: boolean;
  readonly overflow: boolean;
}

/** The proof of work of one request. Determines its difficulty, and uses one solution. */
export class RequestProofOfWork {
  readonly #options: RequestProofOfWorkOptions;
  readonly #guarded: GuardedRequest;
  /** The solution that was used. A later requirement checks only its difficulty. */
  #taken: UsedSolution | null = null;

  constructor(options: RequestProofOfWorkOptions, guarded: GuardedRequest) {
    this.#options = options;
    this.#guarded = guarded;
  }

  /** Resolves if the work is proved or the trust hook requires none. Otherwise throws a 428. */
  async require(
    demand: WorkReason,
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

  /** Makes the solution usable again, because the request was refused and did nothing. */
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
