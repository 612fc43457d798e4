import type { Access } from "../auth/scope.ts";
import { type Described, either, group, listOf } from "../options/option.ts";
import { callback, flag, number, oneOf, whole } from "../options/option_kinds.ts";
import { minTokens } from "./budget/budget_options.ts";
import { headerText } from "./captcha/captcha_options.ts";
import { maxDifficulty, type Trust } from "./pow/difficulty.ts";

/**
 * The kind of an operation in the protection options of a resource, for costs and gates; both live
 * streams are reads.
 */
export type GuardedKind = "read" | "create" | "update" | "delete";

/**
 * The rate limit in the protection options of a resource: how many requests each caller may send to
 * it, of any kind.
 */
export interface RateLimitOptions {
  /** How long a window lasts, in milliseconds; it begins with a caller's first request. */
  readonly windowMs: number;
  /** How many requests a window holds. */
  readonly maxRequests: number;
}

/**
 * The costs in the protection options of a resource: how many tokens of the budget one item costs;
 * 1 each unless set, 0 for nothing.
 */
export interface CostOptions {
  /** Lists, single rows, counts, aggregates, searches, exports and streams. */
  readonly read?: number | undefined;
  /** POST, and each item of `POST /batch` and of upserts. */
  readonly create?: number | undefined;
  /** PATCH, PUT, restoring, and each row of their batches. */
  readonly update?: number | undefined;
  /** DELETE, and each row of its batch. */
  readonly delete?: number | undefined;
}

/** The protection option of a resource that always demands proof of work. */
export interface PowGateOptions {
  /** As in `abuseProtection.pow`, whose value it has unless set. */
  readonly difficulty?: number | undefined;
  /** The operations that it is demanded for; all but streams unless set. */
  readonly operations?: readonly GuardedKind[] | undefined;
  /** As in `abuseProtection.pow`, whose value it has unless set. */
  readonly trust?: Trust | undefined;
}

/** The protection option of a resource that always demands a CAPTCHA. */
export interface CaptchaGateOptions {
  /** The operations that it is demanded for; all but streams unless set. */
  readonly operations?: readonly GuardedKind[] | undefined;
  /** The action that the token must have been solved for. */
  readonly action?: string | undefined;
}

/** The protection options of one resource. */
export interface ProtectionOptions {
  /** How many requests each caller may send to it. No limit unless set. */
  readonly rateLimit?: RateLimitOptions | undefined;
  /** The cost of its operations, in tokens of the budget. */
  readonly cost?: CostOptions | undefined;
  /** Always demands proof of work. Off unless set. */
  readonly pow?: boolean | PowGateOptions | undefined;
  /** Always demands a CAPTCHA. Off unless set. */
  readonly captcha?: CaptchaGateOptions | undefined;
  /** Demands a CAPTCHA instead of proof of work once a caller's budget has run out. */
  readonly overflow?: "captcha" | undefined;
}

/** Describes the cost of one item. */
export const costOption = number({ from: 0 }).fitting(
  `0, or a number from ${minTokens} on`,
  (cost) => cost === 0 || cost >= minTokens,
);

const operations = listOf(
  "operations",
  oneOf<GuardedKind>("read", "create", "update", "delete"),
);

/** The gate of proof of work, described: of a resource, or of a procedure. */
export const powGateOption = either(
  flag(),
  group(
    {
      difficulty: whole({ from: 1, to: maxDifficulty }),
      operations,
      trust: callback<Trust>(),
    } satisfies Described<PowGateOptions>,
  ),
);

/** The protection options of a resource, described. */
export const protectionOptions = {
  rateLimit: group(
    {
      windowMs: whole({ from: 1 }).required(),
      maxRequests: whole({ from: 1 }).required(),
    } satisfies Described<RateLimitOptions>,
  ),
  cost: group(
    {
      read: costOption,
      create: costOption,
      update: costOption,
      delete: costOption,
    } satisfies Described<CostOptions>,
  ),
  pow: powGateOption,
  captcha: group({ operations, action: headerText } satisfies Described<CaptchaGateOptions>),
  overflow: oneOf("captcha"),
} satisfies Described<ProtectionOptions>;

/** The kind of an access in the protection options of a resource, for costs and gates. */
export function guardedKind(access: Access): GuardedKind {
  return access === "subscribe" ? "read" : access;
}
