import type { Access } from "../auth/scope.ts";
import { type Described, either, group, listOf } from "../options/option.ts";
import { callback, flag, number, oneOf, whole } from "../options/option_kinds.ts";
import { minTokens } from "./budget/budget_options.ts";
import { headerText } from "./captcha/captcha_options.ts";
import { maxDifficulty, type Trust } from "./pow/difficulty.ts";

/** The kind of a resource's operation, for costs and gates. Live streams are reads. */
export type GuardedKind = "read" | "create" | "update" | "delete";

/** The rate limit of a resource: the number of requests of any kind for each caller. */
export interface RateLimitOptions {
  /** The duration of a window in milliseconds. A window starts with a caller's first request. */
  readonly windowMs: number;
  /** Number of requests in a window. */
  readonly maxRequests: number;
}

/** The costs of a resource: tokens of the budget for each item. 0 is free. Default: 1. */
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

/** The protection option of a resource that always requires proof of work. */
export interface PowGateOptions {
  /** Difficulty as in `abuseProtection.pow`, whose value is the default. */
  readonly difficulty?: number | undefined;
  /** The operations that require proof of work. Default: all except streams. */
  readonly operations?: readonly GuardedKind[] | undefined;
  /** Trust hook as in `abuseProtection.pow`, whose value is the default. */
  readonly trust?: Trust | undefined;
}

/** The protection option of a resource that always requires a CAPTCHA. */
export interface CaptchaGateOptions {
  /** The operations that require a CAPTCHA. Default: all except streams. */
  readonly operations?: readonly GuardedKind[] | undefined;
  /** Required action of the token. */
  readonly action?: string | undefined;
}

/** The protection options of one resource. */
export interface ProtectionOptions {
  /** Number of requests that each caller may send to the resource. Default: no limit. */
  readonly rateLimit?: RateLimitOptions | undefined;
  /** The costs of the resource's operations, in tokens of the budget. */
  readonly cost?: CostOptions | undefined;
  /** Always requires proof of work. Default: off. */
  readonly pow?: boolean | PowGateOptions | undefined;
  /** Always requires a CAPTCHA. Default: off. */
  readonly captcha?: CaptchaGateOptions | undefined;
  /** Requires a CAPTCHA instead of proof of work when a caller's budget has run out. */
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

/** The description of the proof-of-work gate of a resource or procedure. */
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

/** The descriptions of the protection options of a resource. */
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

/** Returns the kind of an access in the protection options of a resource, for costs and gates. */
export function guardedKind(access: Access): GuardedKind {
  return access === "subscribe" ? "read" : access;
}
