import type { Access } from "../auth/authorize.ts";
import { type Described, either, groupOf, listOf } from "../options/option.ts";
import { callback, flag, number, oneOf, whole } from "../options/option_kinds.ts";
import { minTokenAmount } from "./budget/budget_options.ts";
import { headerTextOptionRule } from "./captcha/captcha_challenges.ts";
import { maxDifficulty, type Trust } from "./pow/difficulty.ts";

/** The kinds of operations by which costs and requirements are configured. Streams are reads. */
export type GuardedKind = "read" | "create" | "update" | "delete";

/** A resource's rate limit: how many requests, of all operations together, a caller can send. */
export interface RateLimitOptions {
  /** Length of a time window in milliseconds. A window starts with a caller's first request. */
  readonly windowMs: number;
  /** Number of requests that a caller may send in a window. */
  readonly maxRequests: number;
}

/** The cost of each item in tokens of the caller's budget, by operation; 0 is free. Default: 1. */
export interface CostOptions {
  /** Cost of a list, single row, count, aggregate, search, export or stream. */
  readonly read?: number | undefined;
  /** Cost of a POST, and of each item of `POST /batch` and of upserts. */
  readonly create?: number | undefined;
  /** Cost of a PATCH, PUT or restore, and of each row in a batch of updates. */
  readonly update?: number | undefined;
  /** Cost of a DELETE, and of each row in a batch of deletes. */
  readonly delete?: number | undefined;
}

/** The proof of work that a resource always requires. */
export interface PowGateOptions {
  /** Number of leading zero bits of a solution. Default: `abuseProtection.pow.difficulty`. */
  readonly difficulty?: number | undefined;
  /** The operations that require proof of work. Default: all except streams. */
  readonly operations?: readonly GuardedKind[] | undefined;
  /** A hook that can change the difficulty. Default: `abuseProtection.pow.trust`. */
  readonly trust?: Trust | undefined;
}

/** The CAPTCHA that a resource always requires. */
export interface CaptchaGateOptions {
  /** The operations that require a CAPTCHA. Default: all except streams. */
  readonly operations?: readonly GuardedKind[] | undefined;
  /** The action that the CAPTCHA token must have. Default: any. */
  readonly action?: string | undefined;
}

/** The options that protect one resource against abuse. */
export interface ProtectionOptions {
  /** Limits the requests of each caller to the resource. Default: no limit. */
  readonly rateLimit?: RateLimitOptions | undefined;
  /** Costs of the resource's operations, in tokens of the caller's budget. */
  readonly cost?: CostOptions | undefined;
  /** Always requires proof of work for the resource's operations. Default: off. */
  readonly pow?: boolean | PowGateOptions | undefined;
  /** Always requires a CAPTCHA for the resource's operations. Default: off. */
  readonly captcha?: CaptchaGateOptions | undefined;
  /** Requires a CAPTCHA instead of proof of work when the caller's budget is used up. */
  readonly overflow?: "captcha" | undefined;
}

export const costOptionRule = number({ from: 0 }).fitting(
  `0, or a number from ${minTokenAmount} on`,
  (cost) => cost === 0 || cost >= minTokenAmount,
);

const operations = listOf("operations", oneOf<GuardedKind>("read", "create", "update", "delete"));

export const powGateOptionRule = either(
  flag(),
  groupOf<PowGateOptions>()({
    difficulty: whole({ from: 1, to: maxDifficulty }),
    operations,
    trust: callback<Trust>(),
  }),
);

export const protectionOptionRules = {
  rateLimit: groupOf<RateLimitOptions>()({
    windowMs: whole({ from: 1 }).required(),
    maxRequests: whole({ from: 1 }).required(),
  }),
  cost: groupOf<CostOptions>()({
    read: costOptionRule,
    create: costOptionRule,
    update: costOptionRule,
    delete: costOptionRule,
  }),
  pow: powGateOptionRule,
  captcha: groupOf<CaptchaGateOptions>()({ operations, action: headerTextOptionRule }),
  overflow: oneOf("captcha"),
} satisfies Described<ProtectionOptions>;

export function guardedKind(access: Access): GuardedKind {
  return access === "subscribe" ? "read" : access;
}
