import type { Access } from "../auth/scope.ts";
import { requireKnownOptions } from "../problem/known_options.ts";
import { showValue } from "../problem/show_value.ts";
import type { ResolvedAbuseProtection } from "./abuse_protection_options.ts";
import { requireCaptchaAction } from "./captcha/captcha_options.ts";
import { maxDifficulty, type Trust } from "./pow/difficulty.ts";
import {
  type CaptchaGateOptions,
  type CostOptions,
  type GuardedKind,
  guardedKind,
  type PowGateOptions,
  type ProtectionOptions,
  type RateLimitOptions,
} from "./resource_protection_options.ts";
import type { RateLimiter } from "./budget/rate_limiter.ts";

/** What stands before one operation, every option settled. */
export interface OperationProtection {
  /** All operations of a resource share one. */
  readonly rateLimit: RateLimiter | null;
  /** Tokens for each item; 0 where no budget has anything to say. */
  readonly cost: number;
  readonly pow: { readonly difficulty: number; readonly trust: Trust | undefined } | null;
  readonly captcha: { readonly action: string | undefined } | null;
  readonly overflowsToCaptcha: boolean;
  readonly isStream: boolean;
}

/** Where protections stand, for messages and for the store. */
export interface ProtectedResource {
  /** Begins messages: `Cannot serve "notes"`. */
  readonly subject: string;
  /** The path of the resource. */
  readonly url: string;
}

/** What protections are settled with, beside their options. */
export interface ProtectionContext {
  readonly abuse: ResolvedAbuseProtection;
  /** The rate limit of a resource, by its path: always the same for the same one. */
  rateLimitOf(url: string, options: RateLimitOptions): RateLimiter;
}

/** What protects the operations of a resource; an access without anything is absent. */
export function resolveProtections(
  options: ProtectionOptions,
  place: ProtectedResource,
  context: ProtectionContext,
): ReadonlyMap<Access, OperationProtection> {
  checkRateLimit(options.rateLimit, place);
  checkCosts(options.cost ?? {}, place, context.abuse);
  checkGates(options, place, context.abuse);
  const accesses = ["read", "create", "update", "delete", "subscribe"] as const;
  return new Map(accesses.flatMap((access) => {
    const protection = protectionOf(access, options, place, context);
    return protection === null ? [] : [[access, protection]];
  }));
}

/** What protects one procedure of a resource, which has a cost and a gate of its own. */
export function resolveProcedureProtection(
  own: { readonly cost?: number | undefined; readonly pow?: ProtectionOptions["pow"] },
  { rateLimit, overflow }: ProtectionOptions,
  place: ProtectedResource,
  context: ProtectionContext,
): OperationProtection | null {
  const { cost, pow } = own;
  const options: ProtectionOptions = {
    rateLimit,
    overflow,
    pow,
    ...(cost === undefined ? {} : { cost: { create: cost } }),
  };
  checkCosts(options.cost ?? {}, place, context.abuse);
  checkGates(options, place, context.abuse);
  return protectionOf("create", options, place, context);
}

function protectionOf(
  access: Access,
  options: ProtectionOptions,
  { url }: ProtectedResource,
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
    protection.pow === null && protection.captcha === null;
  return isOpen ? null : protection;
}

function covers({ operations }: PowGateOptions | CaptchaGateOptions, kind: GuardedKind): boolean {
  return operations === undefined || operations.includes(kind);
}

function powGate(
  { difficulty, trust }: PowGateOptions,
  abuse: ResolvedAbuseProtection,
): OperationProtection["pow"] {
  const settled = abuse.pow();
  return { difficulty: difficulty ?? settled.difficulty, trust: trust ?? settled.trust };
}

function checkRateLimit(rateLimit: unknown, { subject }: ProtectedResource): void {
  if (rateLimit === undefined) return;
  const known: Readonly<Record<keyof RateLimitOptions, true>> = {
    windowMs: true,
    maxRequests: true,
  };
  const given = requireOptions(rateLimit, `${subject}: rateLimit`, known);
  for (const name of Object.keys(known)) {
    const value = given.get(name);
    if (typeof value === "number" && Number.isSafeInteger(value) && value > 0) continue;
    throw new Error(`${subject}: rateLimit.${name} must be a whole number over 0`);
  }
}

const kinds: Readonly<Record<keyof CostOptions & GuardedKind, true>> = {
  read: true,
  create: true,
  update: true,
  delete: true,
};

/** Less is lost among what sums of fractions are forgiven: it would be paid from an empty bucket. */
const minCost = 0.001;

/** What costs more than a bucket holds could never be paid for. */
function checkCosts(
  costs: unknown,
  { subject }: ProtectedResource,
  { budget }: ResolvedAbuseProtection,
): void {
  const given = requireOptions(costs, `${subject}: cost`, kinds);
  for (const kind of Object.keys(kinds)) {
    const cost = given.get(kind) ?? 1;
    if (typeof cost !== "number" || !Number.isFinite(cost) || cost < 0) {
      throw new Error(
        `${subject}: cost.${kind} must be a number from 0 on, not ${showValue(cost)}`,
      );
    }
    if (cost > 0 && cost < minCost) {
      throw new Error(
        `${subject}: cost.${kind} is ${cost}: it must be 0, or ${minCost} at least`,
      );
    }
    for (const [name, { capacity }] of Object.entries(budget?.classes ?? {})) {
      if (cost <= capacity) continue;
      throw new Error(
        `${subject}: cost.${kind} is ${cost}, and a budget of the class "${name}" holds ${capacity}`,
      );
    }
  }
}

function checkGates(
  { pow, captcha, overflow }: ProtectionOptions,
  { subject }: ProtectedResource,
  abuse: ResolvedAbuseProtection,
): void {
  if (pow !== undefined && typeof pow !== "boolean") {
    const known = { difficulty: true, operations: true, trust: true } as const;
    const given = requireOptions(pow, `${subject}: pow`, known);
    checkOperations(given.get("operations"), `${subject}: pow.operations`);
    const { difficulty = 1 } = pow;
    if (!Number.isInteger(difficulty) || difficulty < 1 || difficulty > maxDifficulty) {
      throw new Error(
        `${subject}: pow.difficulty must be a whole number from 1 to ${maxDifficulty}`,
      );
    }
    if (pow.trust !== undefined && typeof pow.trust !== "function") {
      throw new Error(`${subject}: pow.trust must be a function, not ${showValue(pow.trust)}`);
    }
  }
  if (captcha !== undefined) {
    const known = { operations: true, action: true } as const;
    const given = requireOptions(captcha, `${subject}: captcha`, known);
    checkOperations(given.get("operations"), `${subject}: captcha.operations`);
    if (abuse.captcha === null) {
      throw new Error(`${subject}: captcha needs a verifier: set abuseProtection.captcha`);
    }
    const { action } = captcha;
    if (action !== undefined) {
      requireCaptchaAction(action, abuse.captcha.verifier, `${subject}: captcha.action`);
    }
  }
  if (overflow !== undefined && overflow !== "captcha") {
    throw new Error(`${subject}: overflow must be "captcha", not ${showValue(overflow)}`);
  }
}

function checkOperations(operations: unknown, subject: string): void {
  if (operations === undefined) return;
  const names: unknown[] = Array.isArray(operations) ? operations : [operations];
  if (Array.isArray(operations) && names.every((name) => Object.hasOwn(kinds, String(name)))) {
    return;
  }
  throw new Error(`${subject} must be a list of ${Object.keys(kinds).join(", ")}`);
}

function requireOptions(
  value: unknown,
  subject: string,
  known: Readonly<Record<string, true>>,
): ReadonlyMap<string, unknown> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new Error(`${subject} must be an object, not ${showValue(value)}`);
  }
  requireKnownOptions(value, known, subject);
  return new Map(Object.entries(value));
}
