import type { User } from "../auth/authorize.ts";
import type { IdempotentAdmission } from "../idempotency/execute_idempotently.ts";
import { Problem } from "../problem/problem.ts";
import { powHeaders } from "../protocol/pow_protocol.ts";
import type { Reply } from "../protocol/reply.ts";
import { chain, type MaybePromise } from "../runtime/maybe_promise.ts";
import type { ResolvedAbuseProtection } from "./abuse_protection_options.ts";
import type { Debit, EmbeddedItems } from "./budget/debit.ts";
import { rateLimitProblem, withRateHeaders } from "./budget/rate_limit_headers.ts";
import { type RateLimiter, RequestBudget } from "./budget/request_budget.ts";
import type { TakeResult } from "./budget/local_token_allowance.ts";
import type { CaptchaChallenges } from "./captcha/captcha_challenges.ts";
import { addressGroup } from "./client_address.ts";
import { ChargedProblem } from "./charged_problem.ts";
import { RequestProofOfWork, type RequestProofOfWorkOptions } from "./pow/proof_of_work.ts";
import {
  type GuardedRequest,
  type OperationProtection,
  type PowGate,
  UnchallengedRequest,
} from "./operation_protection.ts";

export interface AdmissionOptions extends RequestProofOfWorkOptions {
  readonly captcha: CaptchaChallenges | null;
  budgetOf(request: Request, user: User | null): MaybePromise<RateLimiter | null>;
}

/**
 * The order of calls is {@link countRequest}, {@link admit}, and {@link charge} when the number of
 * items is known. Each throws a 428 or 429, and returns a promise only if it must wait. At the end,
 * {@link finishReply} or {@link finishError} adds headers, and refunds tokens after some errors.
 */
export class Admission implements IdempotentAdmission, Debit {
  readonly #options: AdmissionOptions;
  readonly #protection: OperationProtection;
  readonly #guarded: GuardedRequest;
  readonly #caller: string;
  readonly #facts: { -readonly [Name in keyof AdmissionInput]: AdmissionInput[Name] };
  #rate: TakeResult | null = null;
  #limiter: MaybePromise<RateLimiter | null> | undefined;
  #budget: RequestBudget | null = null;
  #work: RequestProofOfWork | null = null;
  #powGates: readonly PowGate[];
  #captchaAction: string | undefined;

  constructor(options: AdmissionOptions, protection: OperationProtection, guarded: GuardedRequest) {
    const { user } = guarded;
    this.#options = options;
    this.#protection = protection;
    this.#guarded = guarded;
    this.#powGates = protection.pow === null ? [] : [protection.pow];
    this.#captchaAction = protection.captcha?.action;
    // The first letter distinguishes an address from a user id that looks like an address.
    this.#caller = user === null ? `a${addressGroup(guarded.address())}` : `u${user.id}`;
    this.#facts = {
      isUnchallenged: protection.isStream || guarded.request instanceof UnchallengedRequest,
      isRateLimited: false,
      budget: "none",
      powIsOn: options.abuse.powIsOn,
      captchaIsOn: options.captcha !== null,
      overflowsToCaptcha: protection.overflowsToCaptcha,
      hasPowGate: protection.pow !== null,
      hasCaptchaGate: protection.captcha !== null,
      hasWorked: false,
      hasPassedCaptcha: false,
    };
  }

  /** Counts the request against the rate limit. A replayed response has no other cost. */
  countRequest(): MaybePromise<void> {
    const { rateLimit } = this.#protection;
    if (rateLimit === null) return;
    return chain(rateLimit.take(this.#caller, 1), (taken) => {
      this.#rate = taken;
      this.#facts.isRateLimited = !taken.isGranted;
      const verdict = decideAdmission(this.#facts);
      if (verdict.kind === "refuse") throw this.#refusal(verdict.limit);
    });
  }

  admit(): MaybePromise<void> {
    if (this.#protection.cost === 0) return this.#enforce();
    return chain(this.#openBudget(), (budget) => {
      return budget === null ? this.#enforce() : this.#take(budget, 1);
    });
  }

  async isDoubtful(): Promise<boolean> {
    const { cost, pow, captcha } = this.#protection;
    if (offersSolution(this.#guarded.request.headers, this.#options.abuse)) return false;
    if (pow !== null || captcha !== null) return true;
    if (cost === 0) return false;
    return (await this.#findLimiter())?.isKnownShort(this.#caller, cost) ?? false;
  }

  refund(): void {
    this.#budget?.refundAll();
  }

  charge(items: number, embedded: readonly EmbeddedItems[] = []): MaybePromise<void> {
    const cost = embedded.reduce((sum, { protection, count }) => sum + protection.cost * count, 0);
    const isGated = this.#addGates(embedded);
    return chain(cost === 0 ? this.#budget : this.#openBudget(), (budget) => {
      if (cost > 0) budget?.setEmbeddedCost(cost);
      if (budget !== null && !budget.covers(items)) return this.#take(budget, items);
      if (isGated) return this.#enforce();
    });
  }

  refundExcess(items: number): void {
    this.#budget?.refundExcess(items);
  }

  /** After a 422, except `query-too-expensive`, lets the client use its proof of work again. */
  returnSolution(answer: unknown): MaybePromise<void> {
    if (this.#work === null || typeof answer !== "object" || answer === null) return;
    const isRefused = "status" in answer && answer.status === 422 &&
      !(answer instanceof Problem && answer.slug === "query-too-expensive");
    if (isRefused) return this.#work.returnUnused();
  }

  finishReply({ status, headers, body }: Reply): Reply {
    if (status >= 500) this.refund();
    return { status, headers: this.#withHeaders(headers), body };
  }

  finishError(error: unknown): unknown {
    const status = error instanceof Problem ? error.status : 500;
    // If the client has disconnected, it caused the failure itself and gets no refund.
    const isOurs = status >= 500 && !this.#guarded.request.signal.aborted &&
      !(error instanceof ChargedProblem);
    if (isOurs || status === 428 || status === 429) this.refund();
    return error instanceof Problem && status < 500
      ? error.withHeaders(this.#withHeaders(error.headers))
      : error;
  }

  #addGates(embedded: readonly EmbeddedItems[]): boolean {
    const gates = embedded.flatMap(({ protection: { pow } }) => pow ?? []);
    const captchas = embedded.flatMap(({ protection: { captcha } }) => captcha ?? []);
    if (gates.length > 0) {
      this.#powGates = gates;
      this.#facts.hasPowGate = true;
      this.#facts.hasWorked = false;
    }
    if (captchas.length > 0) {
      this.#captchaAction ??= captchas.find(({ action }) => action !== undefined)?.action;
      this.#facts.hasCaptchaGate = true;
    }
    return gates.length + captchas.length > 0;
  }

  #openBudget(): MaybePromise<RequestBudget | null> {
    if (this.#budget !== null) return this.#budget;
    return chain(this.#findLimiter(), (limiter) => {
      if (limiter === null) return null;
      return this.#budget = new RequestBudget(limiter, this.#caller, this.#protection.cost);
    });
  }

  /** Classifies the caller only once: a second call of `classify` could have another result. */
  #findLimiter(): MaybePromise<RateLimiter | null> {
    if (this.#limiter === undefined) {
      const { request, user } = this.#guarded;
      this.#limiter = this.#options.budgetOf(request, user);
    }
    return this.#limiter;
  }

  #take(budget: RequestBudget, items: number): MaybePromise<void> {
    return chain(budget.take(items), (isGranted) => {
      // The work for one item may not be enough for all items, so the solution is checked again.
      this.#facts.hasWorked = false;
      this.#facts.budget = isGranted ? "enough" : "short";
      return this.#enforce();
    });
  }

  #enforce(): MaybePromise<void> {
    const verdict = decideAdmission(this.#facts);
    switch (verdict.kind) {
      case "refuse":
        throw this.#refusal(verdict.limit);
      case "challenge":
        return this.#challenge(verdict).then(() => this.#enforce());
      case "serve":
        if (verdict.debit !== "floor" || this.#budget === null) return this.#pass();
        return chain(this.#budget.takeRest(), () => this.#pass());
    }
  }

  async #challenge(
    verdict: Extract<AdmissionVerdict, { readonly kind: "challenge" }>,
  ): Promise<void> {
    if (verdict.by === "captcha") {
      await this.#requireCaptcha();
      this.#facts.hasPassedCaptcha = true;
    } else {
      this.#work ??= new RequestProofOfWork(this.#options, this.#guarded);
      await this.#work.require(verdict, this.#powGates, this.#budget);
      this.#facts.hasWorked = true;
    }
  }

  async #requireCaptcha(): Promise<void> {
    const { captcha } = this.#options;
    if (captcha === null) throw new Error("A CAPTCHA is required, and no verifier is configured");
    await captcha.require(this.#guarded.request, {
      action: this.#captchaAction,
      remoteIp: this.#guarded.address() ?? undefined,
    });
  }

  #pass(): void {
    this.#budget?.markPaid();
    this.#facts.hasPowGate = false;
    this.#facts.hasCaptchaGate = false;
  }

  #refusal(limit: "rateLimit" | "budget"): Problem {
    const now = this.#options.runtime.clock.now();
    if (limit === "rateLimit") return rateLimitProblem("rate-limit-exceeded", this.#rate, 1, now);
    const { lastTake = null, due = 0 } = this.#budget ?? {};
    return rateLimitProblem("budget-exhausted", lastTake, due, now);
  }

  #withHeaders(headers: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
    const now = this.#options.runtime.clock.now();
    return withRateHeaders(headers, this.#rate, this.#budget?.lastTake ?? null, now);
  }
}

/** Returns true if the request contains a solution, right or wrong: it is not verified here. */
function offersSolution(headers: Headers, { captcha }: ResolvedAbuseProtection): boolean {
  return headers.has(powHeaders.nonce) || captcha !== null && headers.has(captcha.tokenHeader);
}

export interface AdmissionInput {
  /** True for a live stream or a download by a link, whose clients cannot solve a challenge. */
  readonly isUnchallenged: boolean;
  readonly isRateLimited: boolean;
  readonly budget: "none" | "enough" | "short";
  readonly powIsOn: boolean;
  readonly captchaIsOn: boolean;
  readonly overflowsToCaptcha: boolean;
  readonly hasPowGate: boolean;
  readonly hasCaptchaGate: boolean;
  /** True if the proof of work is valid, or if the deployer's trust hook requires no work. */
  readonly hasWorked: boolean;
  readonly hasPassedCaptcha: boolean;
}

export type AdmissionVerdict =
  /** Serves the request. `floor` takes all tokens left, because a challenge pays for the rest. */
  | { readonly kind: "serve"; readonly debit: "none" | "whole" | "floor" }
  /** A challenge, which the operation requires (`gate`) or which replaces tokens (`overflow`). */
  | {
    readonly kind: "challenge";
    readonly by: "pow" | "captcha";
    readonly gate: boolean;
    readonly overflow: boolean;
  }
  | { readonly kind: "refuse"; readonly limit: "rateLimit" | "budget" };

/** Only this function defines the order: rate limit, budget, CAPTCHA, then proof of work. */
export function decideAdmission(facts: AdmissionInput): AdmissionVerdict {
  if (facts.isRateLimited) return { kind: "refuse", limit: "rateLimit" };
  const isShort = facts.budget === "short";
  const substitute = isShort ? substituteFor(facts) : "none";
  if (isShort && substitute === "none") return { kind: "refuse", limit: "budget" };
  const gate = gateOf(facts);
  if (gate === "captcha" || substitute === "captcha") {
    if (!facts.hasPassedCaptcha) return challenge("captcha", gate, substitute);
  } else if ((gate === "pow" || substitute === "pow") && !facts.hasWorked) {
    return challenge("pow", gate, substitute);
  }
  if (facts.budget === "none") return { kind: "serve", debit: "none" };
  return { kind: "serve", debit: isShort ? "floor" : "whole" };
}

type ChallengeKind = "none" | "pow" | "captcha";

function substituteFor(
  { isUnchallenged, overflowsToCaptcha, captchaIsOn, powIsOn }: AdmissionInput,
): ChallengeKind {
  if (isUnchallenged) return "none";
  if (overflowsToCaptcha && captchaIsOn) return "captcha";
  return powIsOn ? "pow" : "none";
}

function gateOf({ isUnchallenged, hasCaptchaGate, hasPowGate }: AdmissionInput): ChallengeKind {
  if (isUnchallenged) return "none";
  return hasCaptchaGate ? "captcha" : hasPowGate ? "pow" : "none";
}

function challenge(
  by: "pow" | "captcha",
  gate: ChallengeKind,
  substitute: ChallengeKind,
): AdmissionVerdict {
  return { kind: "challenge", by, gate: gate !== "none", overflow: substitute !== "none" };
}
