import type { Access } from "../auth/scope.ts";
import type { ResolvedAbuseProtection } from "./abuse_protection_options.ts";
import { requireCaptchaAction } from "./captcha/captcha_options.ts";
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

/** The protection of one operation with resolved options. */
export interface OperationProtection {
  /** The rate limit, which all operations of a resource share. */
  readonly rateLimit: RateLimiter | null;
  /** Tokens for each item; 0 if no budget applies. */
  readonly cost: number;
  readonly pow: PowGate | null;
  readonly captcha: { readonly action: string | undefined } | null;
  readonly overflowsToCaptcha: boolean;
  readonly isStream: boolean;
}

/** The proof of work that an operation always requires. */
export interface PowGate {
  readonly difficulty: number;
  readonly trust: Trust | undefined;
}

/** The resource whose operations are protected, for messages and for keys of the store. */
export interface ProtectedResource {
  /** Start of messages: `Cannot serve "notes"`. */
  readonly subject: string;
  /** The path of the resource. */
  readonly url: string;
  /** True if creates and updates may embed rows of protected resources. */
  readonly embedsRows?: boolean | undefined;
}

/** The context, in addition to the options, in which the protections of operations are resolved. */
export interface ProtectionContext {
  readonly abuse: ResolvedAbuseProtection;
  /** Returns the rate limit of the resource at this path; identical at every call. */
  rateLimitOf(url: string, options: RateLimitOptions): RateLimiter;
}

/**
 * Resolves the protection of each operation of a resource. Accesses without protection are absent.
 */
export function resolveProtections(
  options: ProtectionOptions,
  target: ProtectedResource,
  context: ProtectionContext,
): ReadonlyMap<Access, OperationProtection> {
  for (const kind of ["read", "create", "update", "delete"] as const) {
    checkCost(`cost.${kind}`, options.cost?.[kind] ?? 1, target, context.abuse);
  }
  checkGate(options, target, context.abuse);
  const accesses = ["read", "create", "update", "delete", "subscribe"] as const;
  return new Map(accesses.flatMap((access) => {
    const protection = protectionOf(access, options, target, context);
    return protection === null ? [] : [[access, protection]];
  }));
}

/** The options for the protection of a procedure, in addition to the limits of its resource. */
export interface ProcedureProtectionOptions {
  readonly cost?: number | undefined;
  readonly pow?: ProtectionOptions["pow"];
}

/** Resolves the protection of an operation that is a procedure, which has its own cost and gate. */
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
  checkCost("cost", cost ?? 1, target, context.abuse);
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
    pow: gate === null || isStream ? null : powGate(gate, abuse),
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

/** Returns the gate with the defaults of the service. */
export function powGate(
  { difficulty, trust }: PowGateOptions,
  abuse: ResolvedAbuseProtection,
): OperationProtection["pow"] {
  const service = abuse.pow();
  return { difficulty: difficulty ?? service.difficulty, trust: trust ?? service.trust };
}

/** Throws for a cost that no bucket could pay, because it exceeds the capacity. */
export function checkCost(
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

function checkGate(
  { captcha }: ProtectionOptions,
  { subject }: ProtectedResource,
  abuse: ResolvedAbuseProtection,
): void {
  if (captcha === undefined) return;
  if (abuse.captcha === null) {
    throw new Error(`${subject}: captcha needs a verifier: set abuseProtection.captcha`);
  }
  const { action } = captcha;
  if (action !== undefined) {
    requireCaptchaAction(abuse.captcha.verifier, `${subject}: captcha.action`);
  }
}
