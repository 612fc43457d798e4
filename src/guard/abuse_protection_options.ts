import { groupOf } from "../options/option.ts";
import { whole } from "../options/option_kinds.ts";
import type { Runtime } from "../runtime/runtime.ts";
import {
  budgetOptionRules,
  type BudgetOptions,
  checkBudgetOptions,
} from "./budget/budget_options.ts";
import {
  captchaOptionRules,
  type CaptchaOptions,
  resolveCaptchaOptions,
} from "./captcha/captcha_challenges.ts";
import { powOptionRules, type PowOptions, resolvePowOptions } from "./pow/pow_options.ts";

/** The options that keep a few clients from using up the capacity of the app. */
export interface AbuseProtectionOptions {
  /** The token budget of each caller, which all resources share. Default: no limit. */
  readonly budget?: BudgetOptions | undefined;
  /** Lets callers with an exhausted budget continue by proof of work. Default: off. */
  readonly pow?: PowOptions | undefined;
  /** The provider that verifies CAPTCHA tokens. Default: none. */
  readonly captcha?: CaptchaOptions | undefined;
  /**
   * Number of your own proxies in front of the service. With n proxies, the client's address is
   * entry n from the right in `X-Forwarded-For`. Default: 0, for the address of the connection.
   */
  readonly trustProxy?: number | undefined;
}

export const abuseProtectionOptionRules = groupOf<AbuseProtectionOptions>()({
  budget: budgetOptionRules,
  pow: powOptionRules,
  captcha: captchaOptionRules,
  trustProxy: whole({ from: 0 }).default(0),
}).default({});

export type ResolvedAbuseProtection = ReturnType<typeof resolveAbuseProtection>;

export function resolveAbuseProtection(
  options: AbuseProtectionOptions | undefined,
  isProduction: boolean,
  runtime: Runtime,
) {
  const { budget, pow, captcha, trustProxy } = abuseProtectionOptionRules.read(options, {
    subject: "Cannot start",
    path: "abuseProtection",
  });
  if (budget !== undefined) checkBudgetOptions(budget);
  let resolvedPow = pow === undefined ? null : resolvePowOptions(pow, isProduction, runtime);
  return {
    budget: budget ?? null,
    // Computed at the first use: a missing secret is an error only if proof of work is required.
    pow: () => resolvedPow ??= resolvePowOptions({}, isProduction, runtime),
    powIsOn: pow !== undefined,
    captcha: captcha === undefined ? null : resolveCaptchaOptions(captcha, isProduction),
    trustProxy,
  };
}
