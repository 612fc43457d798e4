import type { Access } from "../auth/scope.ts";
import type { Trust } from "./pow/difficulty.ts";

/** What an operation is, for costs and gates; both live streams are reads. */
export type GuardedKind = "read" | "create" | "update" | "delete";

/** How many requests each caller may send to a resource, whatever they ask for. */
export interface RateLimitOptions {
  /** How long a window lasts, in milliseconds; it begins with a caller's first request. */
  readonly windowMs: number;
  /** How many requests a window holds. */
  readonly maxRequests: number;
}

/** How many tokens of the budget one item costs; 1 each unless set, 0 for nothing. */
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

/** Proof of work that is always asked for. */
export interface PowGateOptions {
  /** As in `abuseProtection.pow`, which it is unless set. */
  readonly difficulty?: number | undefined;
  /** Of what it is asked; of everything but streams unless set. */
  readonly operations?: readonly GuardedKind[] | undefined;
  /** As in `abuseProtection.pow`, which it is unless set. */
  readonly trust?: Trust | undefined;
}

/** A CAPTCHA that is always asked for. */
export interface CaptchaGateOptions {
  /** Of what it is asked; of everything but streams unless set. */
  readonly operations?: readonly GuardedKind[] | undefined;
  /** What the provider is told that the token is for. */
  readonly action?: string | undefined;
}

/** What protects one resource. */
export interface ProtectionOptions {
  /** How many requests each caller may send to it. No limit unless set. */
  readonly rateLimit?: RateLimitOptions | undefined;
  /** What its operations cost of the budget. */
  readonly cost?: CostOptions | undefined;
  /** Always asks for proof of work. Off unless set. */
  readonly pow?: boolean | PowGateOptions | undefined;
  /** Always asks for a CAPTCHA. Off unless set. */
  readonly captcha?: CaptchaGateOptions | undefined;
  /** Sends those whose budget has run out to a CAPTCHA instead of proof of work. */
  readonly overflow?: "captcha" | undefined;
}

/** What an access is for costs and gates. */
export function guardedKind(access: Access): GuardedKind {
  return access === "subscribe" ? "read" : access;
}
