import type { Access } from "../auth/authorize.ts";
import type { AppStore } from "../kv/open_key_value_store.ts";
import { chain, type MaybePromise } from "../runtime/maybe_promise.ts";
import type { Runtime } from "../runtime/runtime.ts";
import type { ResolvedAbuseProtection } from "./abuse_protection_options.ts";
import { Admission, type AdmissionOptions } from "./admission.ts";
import type { ResponseStorageShares } from "../idempotency/answer_shares.ts";
import { anonymousClass, authenticatedClass, mcpClass } from "./budget/budget_options.ts";
import { createCaptchaChallenges } from "./captcha/captcha_challenges.ts";
import { type BucketPolicy, fixedWindowPolicy, tokenBucketPolicy } from "./budget/token_bucket.ts";
import { BucketStore } from "./budget/bucket_store.ts";
import { createProofOfWork, type ProofOfWork } from "./pow/proof_of_work.ts";
import {
  type AccountProtectionOptions,
  defaultAccountBudget,
  type GuardedRequest,
  type OperationProtection,
  type ProcedureProtectionOptions,
  type ProtectedResource,
  resolveAccountProtection,
  resolveProcedureProtection,
  resolveProtections,
} from "./operation_protection.ts";
import type { ProtectionOptions, RateLimitOptions } from "./resource_protection_options.ts";
import { RateLimiter } from "./budget/request_budget.ts";
import { boundedMap } from "../runtime/bounded_map.ts";

export interface Guard {
  protect(
    options: ProtectionOptions,
    target: ProtectedResource,
  ): ReadonlyMap<Access, OperationProtection>;
  protectProcedure(
    own: ProcedureProtectionOptions,
    options: ProtectionOptions,
    target: ProtectedResource,
  ): OperationProtection | null;
  /** Returns the protection of an account route, whose cost is charged to the IP address. */
  protectAccounts(options: AccountProtectionOptions): OperationProtection;
  accountAdmission(protection: OperationProtection, guarded: GuardedRequest): Admission;
  admission(protection: OperationProtection, guarded: GuardedRequest): Admission;
  /** Returns limits on the bytes of each client's stored responses, which expire after `ttlMs`. */
  answerShares(ttlMs: number): ResponseStorageShares;
  limits(): readonly RateLimiter[];
  /** Returns leased tokens to the store. Must be called before the store is closed. */
  close(): Promise<void>;
}

export interface GuardOptions {
  readonly abuse: ResolvedAbuseProtection;
  readonly store: Pick<AppStore, "need">;
  readonly runtime: Runtime;
  /** The requests that MCP tools send. Their class is `mcp` if a budget for it is configured. */
  readonly ofTools?: Pick<WeakSet<Request>, "has">;
}

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

interface Unreconciled {
  bytes: number;
  /** True if the client had too few bytes left at this process's last report. */
  isUsedUp: boolean;
}

/** Limits the bytes of each client's stored responses. Reports to the store after each mebibyte. */
function createResponseStorageShares(
  ttlMs: number,
  limiterOf: (policy: BucketPolicy) => RateLimiter,
): ResponseStorageShares {
  const clients = boundedMap<string, Unreconciled>(50_000);
  let limiter: RateLimiter | null = null;

  function unreconciledOf(share: string): Unreconciled {
    const known = clients.get(share);
    if (known !== undefined) return known;
    const fresh = { bytes: 0, isUsedUp: false };
    clients.set(share, fresh);
    return fresh;
  }

  async function reconcileMuch(share: string, unreconciled: Unreconciled): Promise<void> {
    limiter ??= limiterOf(
      tokenBucketPolicy("answers", {
        capacity: shareBytes,
        refillPerMinute: shareBytes * 60_000 / ttlMs,
      }),
    );
    // The count is reset before the call, so that no concurrent request reports these bytes again.
    const { bytes } = unreconciled;
    unreconciled.bytes = 0;
    const { isGranted } = await limiter.take(share, bytes);
    if (!isGranted) unreconciled.bytes += bytes;
    unreconciled.isUsedUp = !isGranted;
  }

  return {
    reconcile(share): MaybePromise<void> {
      const unreconciled = unreconciledOf(share);
      if (unreconciled.bytes >= reconciledBytes) return reconcileMuch(share, unreconciled);
    },
    take(share, bytes) {
      const unreconciled = unreconciledOf(share);
      if (unreconciled.isUsedUp || unreconciled.bytes + bytes > maxUnreconciledBytes) return false;
      unreconciled.bytes += bytes;
      return true;
    },
  };
}

/** Maximum size of one client's stored responses in all processes, in bytes. */
const shareBytes = 16 * 1024 ** 2;

/** When a client has used this number of bytes, the process reports them to the store. */
const reconciledBytes = 1024 ** 2;

/** The maximum bytes of one client that a process accepts before it reports them. */
const maxUnreconciledBytes = 4 * 1024 ** 2;
