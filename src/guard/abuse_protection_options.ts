import { type Described, group } from "../options/option.ts";
import { whole } from "../options/option_kinds.ts";
import type { Runtime } from "../runtime/runtime.ts";
import { type BudgetOptions, budgetOptions, checkBudget } from "./budget/budget_options.ts";
import {
  type CaptchaOptions,
  captchaOptions,
  resolveCaptchaOptions,
  type ResolvedCaptchaOptions,
} from "./captcha/captcha_options.ts";
import {
  type PowOptions,
  powOptions,
  type ResolvedPowOptions,
  resolvePowOptions,
} from "./pow/pow_options.ts";

/**
 * The options of abuse protection: limits that prevent a few clients from exhausting the service.
 */
export interface AbuseProtectionOptions {
  /** Budget of each caller for the whole service. Default: no limit. */
  readonly budget?: BudgetOptions | undefined;
  /** True or options to accept proof of work instead of an exhausted budget. Default: off. */
  readonly pow?: PowOptions | undefined;
  /** The provider of CAPTCHAs. Default: none. */
  readonly captcha?: CaptchaOptions | undefined;
  /**
   * The number of the operator's own proxies in front of the service. The client's address is then
   * the n-th from the right of `X-Forwarded-For`. Default: 0, which uses the address of the socket.
   */
  readonly trustProxy?: number | undefined;
}

/** The descriptions of the options of abuse protection. */
export const abuseProtectionOptions = group(
  {
    budget: budgetOptions,
    pow: powOptions,
    captcha: captchaOptions,
    trustProxy: whole({ from: 0 }).default(0),
  } satisfies Described<AbuseProtectionOptions>,
).default({});

/** The options of abuse protection with their defaults. */
export interface ResolvedAbuseProtection {
  readonly budget: BudgetOptions | null;
  /** Proof of work for gates of resources, which apply even if `powIsOn` is false. */
  pow(): ResolvedPowOptions;
  readonly powIsOn: boolean;
  readonly captcha: ResolvedCaptchaOptions | null;
  readonly trustProxy: number;
}

/** Validates the options of abuse protection at start. Throws a plain Error for an invalid one. */
export function resolveAbuseProtection(
  options: AbuseProtectionOptions | undefined,
  isProduction: boolean,
  runtime: Runtime,
): ResolvedAbuseProtection {
  const { budget, pow, captcha, trustProxy } = abuseProtectionOptions.read(options, {
    subject: "Cannot start",
    path: "abuseProtection",
  });
  if (budget !== undefined) checkBudget(budget);
  let resolvedPow = pow === undefined ? null : resolvePowOptions(pow, isProduction, runtime);
  return {
    budget: budget ?? null,
    // Resolved only when a gate needs it. Without a gate, a missing secret is not an error.
    pow: () => resolvedPow ??= resolvePowOptions({}, isProduction, runtime),
    powIsOn: pow !== undefined,
    captcha: captcha === undefined ? null : resolveCaptchaOptions(captcha, isProduction),
    trustProxy,
  };
}
