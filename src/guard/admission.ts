import type { User } from "../auth/user.ts";
import { Problem } from "../problem/problem.ts";
import { powHeaders } from "../protocol/proof_of_work.ts";
import type { Reply } from "../protocol/reply.ts";
import type { Runtime } from "../runtime/runtime.ts";
import type { IdempotentAdmission } from "../idempotency/answer_once.ts";
import type { ResolvedAbuseProtection } from "./abuse_options.ts";
import type { CaptchaChallenge } from "./captcha/captcha.ts";
import { addressGroup } from "./client_address.ts";
import type { TakeResult } from "./budget/token_lease.ts";
import {
  type AdmissionFacts,
  type AdmissionVerdict,
  admissionVerdict,
} from "./admission_verdict.ts";
import { callTrust, overflowDifficulty } from "./pow/difficulty.ts";
import type { FingerprintedRequest } from "./pow/request_fingerprint.ts";
import { roundingTolerance } from "./budget/token_bucket.ts";
import type { Debit } from "./budget/debit.ts";
import type { ProofOfWork } from "./pow/proof_of_work.ts";
import type { Protection } from "./protection.ts";
import type { RateLimiter } from "./budget/rate_limiter.ts";
import { type RateLimitState, secondsUntil, withRateHeaders } from "./budget/rate_headers.ts";
import type { GuardedRequest } from "./guarded_request.ts";

/** What every admission works with. */
export interface AdmissionOptions {
  readonly abuse: ResolvedAbuseProtection;
  /** Null where no provider is configured. */
  readonly captcha: CaptchaChallenge | null;
  readonly runtime: Runtime;
  /** The budget of a caller's class; null where the class has none. */
  budgetOf(request: Request, user: User | null): RateLimiter | null | Promise<RateLimiter | null>;
  /** Asked only once work is. */
  proofOfWork(): ProofOfWork;
}

/**
 * One request on its way past the limits: first {@link enter}, then {@link admit}, and
 * {@link debit} once more is known about what it asks for. Each throws a 428 or 429, and is a
 * promise only where something has to be waited for. In the end either {@link served} or
 * {@link failed} is told, which gives back what was taken for nothing.
 */
export class Admission implements IdempotentAdmission, Debit {
  readonly #options: AdmissionOptions;
  readonly #protection: Protection;
  readonly #guarded: GuardedRequest;
  readonly #who: string;
  readonly #facts: { -readonly [Name in keyof AdmissionFacts]: AdmissionFacts[Name] };
  #rate: TakeResult | null = null;
  #budget: RateLimiter | null = null;
  #finding: { readonly budget: RateLimiter | null | Promise<RateLimiter | null> } | null = null;
  #spent: TakeResult | null = null;
  /** The tokens that were taken from the budget. */
  #charged = 0;
  /** What was paid for, by tokens or by work, and what is to be: the whole, however much it is. */
  #paid = 0;
  #cost = 0;
  /** A solution is used up once for a request, and may be looked at again. */
  #hasClaimed = false;

  /** Asks nobody yet. */
  constructor(options: AdmissionOptions, protection: Protection, guarded: GuardedRequest) {
    const { user } = guarded;
    this.#options = options;
    this.#protection = protection;
    this.#guarded = guarded;
    // Two spaces of names: a user may be called like an address.
    this.#who = user === null ? `a${addressGroup(guarded.address())}` : `u${user.id}`;
    this.#facts = {
      isStream: protection.isStream,
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

  /** Counts the request. What was answered before may be answered again after this. */
  enter(): void | Promise<void> {
    const { rateLimit } = this.#protection;
    if (rateLimit === null) return;
    const taking = rateLimit.take(this.#who, 1);
    return taking instanceof Promise
      ? taking.then((taken) => this.#entered(taken))
      : this.#entered(taking);
  }

  /** Takes the price of one item, and asks for what the gates want. */
  admit(): void | Promise<void> {
    if (this.#protection.cost === 0) return this.#judge();
    const finding = this.#findBudget();
    return finding instanceof Promise
      ? finding.then((rateLimiter) => this.#pay(rateLimiter))
      : this.#pay(finding);
  }

  async isDoubtful(): Promise<boolean> {
    const { cost, pow, captcha } = this.#protection;
    if (offersSolution(this.#guarded.request.headers, this.#options.abuse)) return false;
    if (pow !== null || captcha !== null) return true;
    const budget = cost === 0 ? null : await this.#findBudget();
    return budget?.isKnownShort(this.#who, cost) ?? false;
  }

  giveBack(): void {
    this.#giveBack(this.#charged);
  }

  /** A whole bucket is enough for any number. */
  covers(items: number): boolean {
    if (this.#budget === null) return true;
    return this.#costOf(items) <= this.#paid + roundingTolerance ||
      this.#charged + roundingTolerance >= this.#budget.limit.capacity;
  }

  debit(items: number): void | Promise<void> {
    if (this.#budget === null || this.covers(items)) return;
    this.#cost = this.#costOf(items);
    return this.#take(this.#budget);
  }

  settle(items: number): void {
    const cost = this.#costOf(items);
    if (cost >= this.#paid) return;
    this.#paid = cost;
    this.#giveBack(this.#charged - cost);
  }

  /** The answer, with what is left. */
  served(reply: Reply): Reply {
    if (reply.status >= 500) this.giveBack();
    return { status: reply.status, headers: this.#withHeaders(reply.headers), body: reply.body };
  }

  /** What to throw instead: the same, with what is left. A failure of ours stays what it is. */
  failed(error: unknown): unknown {
    const status = error instanceof Problem ? error.status : 500;
    if (status >= 500 || status === 428 || status === 429) this.giveBack();
    return error instanceof Problem && status < 500
      ? error.withHeaders(this.#withHeaders(error.headers))
      : error;
  }

  #entered(taken: TakeResult): void {
    this.#rate = taken;
    this.#facts.isRateLimited = !taken.isGranted;
    const verdict = admissionVerdict(this.#facts);
    if (verdict.kind === "refuse") throw this.#refusal(verdict, 1);
  }

  /** Asked once: whatever a deployer's function says, a request has one budget. */
  #findBudget(): RateLimiter | null | Promise<RateLimiter | null> {
    const { request, user } = this.#guarded;
    return (this.#finding ??= { budget: this.#options.budgetOf(request, user) }).budget;
  }

  /** Of at least one item, as an empty batch is a request, too. */
  #costOf(items: number): number {
    return Math.max(1, items) * this.#protection.cost;
  }

  /** The tokens that the price still takes: no request takes more than a bucket holds. */
  #due(): number {
    return Math.min(this.#cost, this.#budget?.limit.capacity ?? 0) - this.#charged;
  }

  /** What a solved challenge paid for was not taken, and does not come back as tokens. */
  #giveBack(amount: number): void {
    if (this.#budget === null || amount <= 0) return;
    this.#spent = this.#budget.giveBack(this.#who, amount);
    this.#charged -= amount;
  }

  #pay(budget: RateLimiter | null): void | Promise<void> {
    this.#budget = budget;
    if (budget === null) return this.#judge();
    this.#cost = this.#protection.cost;
    return this.#take(budget);
  }

  #take(budget: RateLimiter): void | Promise<void> {
    const taking = budget.takeMore(this.#who, this.#due(), this.#charged);
    return taking instanceof Promise
      ? taking.then((taken) => this.#took(taken))
      : this.#took(taking);
  }

  #took(taken: TakeResult): void | Promise<void> {
    this.#spent = taken;
    this.#charged += taken.amount;
    // Work that was done for one item need not be enough for all of them.
    this.#facts.hasWorked = false;
    this.#facts.budget = taken.isGranted ? "enough" : "short";
    return this.#judge();
  }

  #judge(): void | Promise<void> {
    const verdict = admissionVerdict(this.#facts);
    if (verdict.kind === "refuse") throw this.#refusal(verdict, this.#due());
    if (verdict.kind === "challenge") return this.#challenge(verdict);
    if (verdict.debit === "floor") return this.#takeRest();
    this.#letIn();
  }

  /** The gates are passed; what is asked from here on is the budget's. */
  #letIn(): void {
    this.#paid = this.#cost;
    this.#facts.hasPowGate = false;
    this.#facts.hasCaptchaGate = false;
  }

  async #takeRest(): Promise<void> {
    const taken = await this.#budget?.takeToFloor(this.#who, this.#due());
    if (taken !== undefined) {
      this.#spent = taken;
      this.#charged += taken.amount;
    }
    this.#letIn();
  }

  async #challenge(
    verdict: Extract<AdmissionVerdict, { readonly kind: "challenge" }>,
  ): Promise<void> {
    if (verdict.by === "captcha") {
      await this.#requireCaptcha();
      this.#facts.hasPassedCaptcha = true;
    } else {
      await this.#requireWork(verdict);
      this.#facts.hasWorked = true;
    }
    await this.#judge();
  }

  async #requireCaptcha(): Promise<void> {
    const { captcha } = this.#options;
    if (captcha === null) throw new Error("A CAPTCHA is asked for, and nobody checks it");
    const action = this.#protection.captcha?.action;
    await captcha.require(this.#guarded.request, {
      action,
      remoteIp: this.#guarded.address() ?? undefined,
    });
  }

  async #requireWork(
    asked: { readonly gate: boolean; readonly overflow: boolean },
  ): Promise<void> {
    const difficulty = Math.max(
      asked.gate ? await this.#gateDifficulty() : 0,
      asked.overflow ? await this.#overflowDifficulty() : 0,
    );
    if (difficulty === 0) return;
    const { request: { method, headers }, target: { path, query }, user } = this.#guarded;
    const body = await this.#guarded.body();
    const facts: FingerprintedRequest = { method, path, query, body, userId: user?.id ?? null };
    const pow = this.#options.proofOfWork();
    const isStillGood = this.#hasClaimed &&
      typeof pow.checkSolution(headers, facts, difficulty) !== "string";
    if (isStillGood) return;
    await pow.requireSolution(headers, facts, difficulty);
    this.#hasClaimed = true;
  }

  #gateDifficulty(): number | Promise<number> {
    const { pow } = this.#protection;
    if (pow === null) return 0;
    const { request, user } = this.#guarded;
    const question = {
      user,
      request,
      reason: "endpoint" as const,
      deficit: 0,
      base: pow.difficulty,
    };
    return callTrust(pow.trust, question, this.#options.runtime);
  }

  /** By all that is lacking: the price of a batch is not made less by how little a bucket holds. */
  #overflowDifficulty(): number | Promise<number> {
    const budget = this.#budget;
    if (budget === null) return 0;
    const { request, user } = this.#guarded;
    const { difficulty, trust } = this.#options.abuse.pow();
    const deficit = this.#cost - this.#charged - Math.max(0, this.#spent?.left.tokens ?? 0);
    const base = overflowDifficulty(difficulty, deficit, budget.limit.capacity);
    return callTrust(
      trust,
      { user, request, reason: "budget", deficit, base },
      this.#options.runtime,
    );
  }

  #refusal(
    { limit }: Extract<AdmissionVerdict, { readonly kind: "refuse" }>,
    amount: number,
  ): Problem {
    const standing = limit === "rateLimit"
      ? standingOf(this.#protection.rateLimit, this.#rate)
      : standingOf(this.#budget, this.#spent);
    const [slug, detail] = limit === "rateLimit"
      ? ["rate-limit-exceeded", "Too many requests to this resource"] as const
      : ["budget-exhausted", "The budget for this request is used up"] as const;
    const seconds = standing === null
      ? null
      : secondsUntil(amount, standing, this.#options.runtime.clock.now());
    const retry = seconds === null ? {} : { "retry-after": String(Math.max(1, seconds)) };
    return new Problem(slug, detail, { headers: retry });
  }

  #withHeaders(headers: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
    const rate = standingOf(this.#protection.rateLimit, this.#rate);
    const budget = standingOf(this.#budget, this.#spent);
    return withRateHeaders(headers, rate, budget, this.#options.runtime.clock.now());
  }
}

/** Whether anything is there that has to be looked at, however wrong it may be. */
function offersSolution(headers: Headers, { captcha }: ResolvedAbuseProtection): boolean {
  return headers.has(powHeaders.nonce) || captcha !== null && headers.has(captcha.tokenHeader);
}

function standingOf(
  rateLimiter: RateLimiter | null,
  taken: TakeResult | null,
): RateLimitState | null {
  return rateLimiter === null || taken === null
    ? null
    : { limit: rateLimiter.limit, left: taken.left };
}
