import type { Access } from "../auth/authorize.ts";
import type { ResolvedAbuseProtection } from "./abuse_protection_options.ts";
import { requireCaptchaVerifier } from "./captcha/captcha_options.ts";
import type { Trust } from "./pow/difficulty.ts";
import {
  type CaptchaGateOptions,
  type GuardedKind,
  guardedKind,
  type PowGateOptions,
  type ProtectionOptions,
  type RateLimitOptions,
} from "./resource_protection_options.ts";
import type { RateLimiter } from "./budget/rate_limiter.ts";

export interface OperationProtection {
  /** The rate limit of the resource, which all its operations share. */
  readonly rateLimit: RateLimiter | null;
  /** Cost of one item in tokens of the caller's budget; 0 if no budget applies. */
  readonly cost: number;
  readonly pow: PowGate | null;
  readonly captcha: { readonly action: string | undefined } | null;
  readonly overflowsToCaptcha: boolean;
  readonly isStream: boolean;
}

/** The proof of work that an operation requires even if the budget is not used up. */
export interface PowGate {
  readonly difficulty: number;
  readonly trust: Trust | undefined;
}

export interface ProtectedResource {
  /** The start of error messages: `Cannot serve "notes"`. */
  readonly subject: string;
  /** The path of the resource, also for keys in the store. */
  readonly url: string;
  /** True if creates and updates can also write rows of other protected resources. */
  readonly embedsRows?: boolean | undefined;
}

/** The app-wide settings from which protections (limits, challenges) are computed. */
export interface ProtectionContext {
  readonly abuse: ResolvedAbuseProtection;
  /** Returns the rate limit for a resource's path, always as the same object. */
  rateLimitOf(url: string, options: RateLimitOptions): RateLimiter;
}

export function resolveProtections(
  options: ProtectionOptions,
  target: ProtectedResource,
  context: ProtectionContext,
): ReadonlyMap<Access, OperationProtection> {
  for (const kind of ["read", "create", "update", "delete"] as const) {
    requirePayableCost(`cost.${kind}`, options.cost?.[kind] ?? 1, target, context.abuse);
  }
  if (options.captcha !== undefined) {
    requireCaptchaVerifier(options.captcha, context.abuse.captcha, `${target.subject}: captcha`);
  }
  const accesses = ["read", "create", "update", "delete", "subscribe"] as const;
  return new Map(accesses.flatMap((access) => {
    const protection = protectionOf(access, options, target, context);
    return protection === null ? [] : [[access, protection]];
  }));
}

/** The protection of a procedure, in addition to the limits of its resource. */
export interface ProcedureProtectionOptions {
  readonly cost?: number | undefined;
  readonly pow?: ProtectionOptions["pow"];
}

export function resolveProcedureProtection(
  own: ProcedureProtectionOptions,
  { rateLimit, overflow }: ProtectionOptions,
  target: ProtectedResource,
  context: ProtectionContext,
): OperationProtection | null {
  const { cost, pow } = own;
  const options: ProtectionOptions = {
    rateLimit,
    overflow,
    pow,
    ...(cost === undefined ? {} : { cost: { create: cost } }),
  };
  requirePayableCost("cost", cost ?? 1, target, context.abuse);
  return protectionOf("create", options, target, context);
}

function protectionOf(
  access: Access,
  options: ProtectionOptions,
  { url, embedsRows = false }: ProtectedResource,
  { abuse, rateLimitOf }: ProtectionContext,
): OperationProtection | null {
  const kind = guardedKind(access);
  const isStream = access === "subscribe";
  const { pow = false, captcha, rateLimit } = options;
  const gate = pow === true ? {} : pow === false || isStream || !covers(pow, kind) ? null : pow;
  const protection = {
    rateLimit: rateLimit === undefined ? null : rateLimitOf(url, rateLimit),
    cost: abuse.budget === null ? 0 : options.cost?.[kind] ?? 1,
    pow: gate === null || isStream ? null : resolvePowGate(gate, abuse),
    captcha: captcha === undefined || isStream || !covers(captcha, kind)
      ? null
      : { action: captcha.action },
    overflowsToCaptcha: options.overflow === "captcha",
    isStream,
  };
  const isOpen = protection.rateLimit === null && protection.cost === 0 &&
    protection.pow === null && protection.captcha === null &&
    !(embedsRows && (access === "create" || access === "update"));
  return isOpen ? null : protection;
}

function covers({ operations }: PowGateOptions | CaptchaGateOptions, kind: GuardedKind): boolean {
  return operations === undefined || operations.includes(kind);
}

/** Returns a required proof of work. Defaults come from `abuseProtection.pow`. */
export function resolvePowGate(
  { difficulty, trust }: PowGateOptions,
  abuse: ResolvedAbuseProtection,
): OperationProtection["pow"] {
  const service = abuse.pow();
  return { difficulty: difficulty ?? service.difficulty, trust: trust ?? service.trust };
}

/** Throws if a cost exceeds the capacity of every budget, so that no caller could pay it. */
export function requirePayableCost(
  option: string,
  cost: number,
  { subject }: ProtectedResource,
  { budget }: ResolvedAbuseProtection,
): void {
  for (const [name, { capacity }] of Object.entries(budget?.classes ?? {})) {
    if (cost <= capacity) continue;
    throw new Error(
      `${subject}: ${option} is ${cost}, and a budget of the class "${name}" holds ${capacity}`,
    );
  }
}
