import type { Access, User } from "../auth/authorize.ts";
import type { ResolvedAbuseProtection } from "./abuse_protection_options.ts";
import { requireCaptchaVerifier } from "./captcha/captcha_challenges.ts";
import { maxDifficulty, type Trust } from "./pow/difficulty.ts";
import {
  type CaptchaGateOptions,
  type GuardedKind,
  guardedKind,
  type PowGateOptions,
  type ProtectionOptions,
  type RateLimitOptions,
} from "./resource_protection_options.ts";
import type { RateLimiter } from "./budget/request_budget.ts";
import { either, groupOf } from "../options/option.ts";
import { callback, flag, whole } from "../options/option_kinds.ts";
import { anonymousClass } from "./budget/budget_options.ts";

export interface OperationProtection {
  readonly rateLimit: RateLimiter | null;
  /** Cost of one item in tokens of the caller's budget; 0 if no budget applies. */
  readonly cost: number;
  readonly pow: PowGate | null;
  readonly captcha: { readonly action: string | undefined } | null;
  readonly overflowsToCaptcha: boolean;
  readonly isStream: boolean;
}

export interface PowGate {
  readonly difficulty: number;
  readonly trust: Trust | undefined;
}

export interface ProtectedResource {
  /** The start of error messages: `Cannot serve "notes"`. */
  readonly subject: string;
  readonly url: string;
  /** True if creates and updates can also write rows of other protected resources. */
  readonly embedsRows?: boolean | undefined;
}

interface ProtectionContext {
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

function resolvePowGate(
  { difficulty, trust }: PowGateOptions,
  abuse: ResolvedAbuseProtection,
): OperationProtection["pow"] {
  const service = abuse.pow();
  return { difficulty: difficulty ?? service.difficulty, trust: trust ?? service.trust };
}

/** Throws if a cost exceeds the capacity of a class: its callers could never pay the cost. */
function requirePayableCost(
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

/** The options of the proof of work that an account route always requires. */
export type AccountPowOptions = Omit<PowGateOptions, "operations">;

/** The default budget of an IP address for account routes: it limits guesses of passwords. */
export const defaultAccountBudget = { capacity: 20, refillPerMinute: 10 } as const;

export const accountPowOptionRule = either(
  flag(),
  groupOf<AccountPowOptions>()({
    difficulty: whole({ from: 1, to: maxDifficulty }),
    trust: callback<Trust>(),
  }),
).default(false);

export interface AccountProtectionOptions {
  readonly path: string;
  readonly cost: number;
  readonly pow: boolean | AccountPowOptions;
  readonly captcha: { readonly action: string | undefined } | null;
}

export function resolveAccountProtection(
  { path, cost, pow, captcha }: AccountProtectionOptions,
  abuse: ResolvedAbuseProtection,
): OperationProtection {
  const subject = "Cannot start";
  requirePayableCost(`${path}.cost`, cost, { subject, url: "" }, abuse);
  const hasOwn = abuse.budget?.classes[anonymousClass] === undefined;
  if (hasOwn && cost > defaultAccountBudget.capacity) {
    throw new Error(
      `${subject}: ${path}.cost is ${cost}, and the budget of these routes holds ` +
        `${defaultAccountBudget.capacity} (set abuseProtection.budget)`,
    );
  }
  if (captcha !== null) {
    requireCaptchaVerifier(captcha, abuse.captcha, `${subject}: ${path}.captcha`);
  }
  return {
    rateLimit: null,
    cost,
    pow: pow === false ? null : resolvePowGate(pow === true ? {} : pow, abuse),
    captcha,
    overflowsToCaptcha: false,
    isStream: false,
  };
}

/** A request whose client cannot solve a challenge, such as the download of a link. */
export class UnchallengedRequest extends Request {}

export interface GuardedRequest {
  readonly request: Request;
  /** The raw path, and the raw query without the question mark. */
  readonly target: { readonly path: string; readonly query: string };
  readonly user: User | null;
  address(): string | null;
  /** Reads the body. All calls return the same bytes, which are empty without a body. */
  body(): Promise<Uint8Array>;
}
