import type { Access } from "../auth/scope.ts";
import type { AppStore } from "../kv/open_key_value_store.ts";
import { chain } from "../runtime/maybe_promise.ts";
import type { Runtime } from "../runtime/runtime.ts";
import type { ResolvedAbuseProtection } from "./abuse_protection_options.ts";
import { Admission, type AdmissionOptions } from "./admission.ts";
import type { ResponseStorageShares } from "../idempotency/answer_shares.ts";
import { createResponseStorageShares } from "./budget/answer_shares.ts";
import {
  type AccountProtectionOptions,
  defaultAccountBudget,
  resolveAccountProtection,
} from "./account_protection.ts";
import { anonymousClass, authenticatedClass, mcpClass } from "./budget/budget_options.ts";
import { createCaptchaChallenges } from "./captcha/captcha_challenges.ts";
import { type BucketPolicy, fixedWindowPolicy, tokenBucketPolicy } from "./budget/token_bucket.ts";
import { BucketStore } from "./budget/bucket_store.ts";
import { createProofOfWork, type ProofOfWork } from "./pow/proof_of_work.ts";
import {
  type OperationProtection,
  type ProcedureProtectionOptions,
  type ProtectedResource,
  resolveProcedureProtection,
  resolveProtections,
} from "./operation_protection.ts";
import type { ProtectionOptions, RateLimitOptions } from "./resource_protection_options.ts";
import { RateLimiter } from "./budget/rate_limiter.ts";
import type { GuardedRequest } from "./guarded_request.ts";

/** Protects the operations of an app against abuse. */
export interface Guard {
  protect(
    options: ProtectionOptions,
    target: ProtectedResource,
  ): ReadonlyMap<Access, OperationProtection>;
  /** Returns the protection of a procedure; null if it has none. */
  protectProcedure(
    own: ProcedureProtectionOptions,
    options: ProtectionOptions,
    target: ProtectedResource,
  ): OperationProtection | null;
  /** Returns the protection of an account route, for which the client's IP address pays. */
  protectAccounts(options: AccountProtectionOptions): OperationProtection;
  accountAdmission(protection: OperationProtection, guarded: GuardedRequest): Admission;
  admission(protection: OperationProtection, guarded: GuardedRequest): Admission;
  /** Returns the limits on the bytes of stored responses per client. They expire after `ttlMs`. */
  answerShares(ttlMs: number): ResponseStorageShares;
  /** Returns the budgets and rate limits that have counted any request. */
  limits(): readonly RateLimiter[];
  /** Returns leased tokens to the store. Must be called before the store is closed. */
  close(): Promise<void>;
}

export interface GuardOptions {
  readonly abuse: ResolvedAbuseProtection;
  /** The key-value store, which is opened at the first use. */
  readonly store: Pick<AppStore, "need">;
  readonly runtime: Runtime;
  /** The requests that MCP tools send. Their class is `mcp` if a budget for it is configured. */
  readonly ofTools?: Pick<WeakSet<Request>, "has">;
}

/** Creates the guard of an app. All resources share the budget of a caller. */
export function createGuard({ abuse, store, runtime, ofTools }: GuardOptions): Guard {
  let buckets: BucketStore | null = null;
  let proofOfWork: ProofOfWork | null = null;
  let ownBudget: RateLimiter | null = null;
  function rateLimiterOf(id: string, limit: BucketPolicy): RateLimiter {
    buckets ??= new BucketStore(store.need("limits"), runtime);
    return new RateLimiter(id, limit, buckets, runtime.clock);
  }
  const rateLimits = new Map<string, RateLimiter>();
  const budgets = new Map<string, RateLimiter>();
  function budgetOf(id: string, limit: BucketPolicy): RateLimiter {
    const limiter = rateLimiterOf(id, limit);
    budgets.set(id, limiter);
    return limiter;
  }
  const context = {
    abuse,
    rateLimitOf(url: string, options: RateLimitOptions): RateLimiter {
      const rateLimiter = rateLimits.get(url) ??
        rateLimiterOf(`rate ${url}`, fixedWindowPolicy("requests", options));
      rateLimits.set(url, rateLimiter);
      return rateLimiter;
    },
  };
  const parts: AdmissionOptions = {
    abuse,
    captcha: abuse.captcha === null
      ? null
      : createCaptchaChallenges({ ...abuse.captcha, store: store.need("limits"), runtime }),
    runtime,
    budgetOf: budgetFinder(abuse, budgetOf, runtime, ofTools),
    proofOfWork: () =>
      proofOfWork ??= createProofOfWork({ ...abuse.pow(), store: store.need("limits"), runtime }),
  };
  return {
    protect: (options, target) => resolveProtections(options, target, context),
    protectProcedure: (own, options, target) =>
      resolveProcedureProtection(own, options, target, context),
    protectAccounts: (options) => resolveAccountProtection(options, abuse),
    accountAdmission(protection, guarded) {
      const own = () => ownBudget ??= rateLimiterOf("accounts", accountPolicy);
      const budgetOf: AdmissionOptions["budgetOf"] = (request, user) =>
        chain(parts.budgetOf(request, user), (budget) => budget ?? own());
      return new Admission({ ...parts, budgetOf }, protection, guarded);
    },
    admission: (protection, guarded) => new Admission(parts, protection, guarded),
    answerShares: (ttlMs) =>
      createResponseStorageShares(ttlMs, (policy) => rateLimiterOf("answers", policy)),
    limits: () => [...budgets.values(), ...rateLimits.values()],
    async close() {
      await buckets?.close();
    },
  };
}

const accountPolicy = tokenBucketPolicy("accounts", defaultAccountBudget);

function budgetFinder(
  { budget }: ResolvedAbuseProtection,
  rateLimiterOf: (id: string, limit: BucketPolicy) => RateLimiter,
  { observe }: Runtime,
  ofTools: GuardOptions["ofTools"],
): AdmissionOptions["budgetOf"] {
  if (budget === null) return () => null;
  const classes = new Map(
    Object.entries(budget.classes).map(([name, options]) => [
      name,
      rateLimiterOf(`budget ${name}`, tokenBucketPolicy("budget", options)),
    ]),
  );
  const anonymous = classes.get(anonymousClass) ?? null;
  const authenticated = classes.get(authenticatedClass) ?? null;
  const { classify } = budget;

  function failed(error: unknown): RateLimiter | null {
    observe({ kind: "classify_failed", error });
    return anonymous;
  }
  function named(name: unknown): RateLimiter | null {
    const rateLimiter = typeof name === "string" ? classes.get(name) : undefined;
    return rateLimiter ?? failed(new Error(`There is no class ${JSON.stringify(name)}`));
  }
  const ofOthers: AdmissionOptions["budgetOf"] = (request, user) => {
    if (classify === undefined) return user === null ? anonymous : authenticated;
    try {
      const name = classify(request, user);
      return name instanceof Promise ? name.then(named, failed) : named(name);
    } catch (error) {
      return failed(error);
    }
  };
  const tools = classes.get(mcpClass);
  if (tools === undefined || ofTools === undefined) return ofOthers;
  return (request, user) => ofTools.has(request) ? tools : ofOthers(request, user);
}
