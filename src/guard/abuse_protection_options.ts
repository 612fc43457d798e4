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
 * The options of abuse protection for the whole service: limits that keep a few clients from using
 * it up.
 */
export interface AbuseProtectionOptions {
  /** How much each caller may use of the whole service. No limit unless set. */
  readonly budget?: BudgetOptions | undefined;
  /** Accepts proof of work in place of a budget that has run out. Off unless set. */
  readonly pow?: PowOptions | undefined;
  /** The provider of CAPTCHAs. None unless set. */
  readonly captcha?: CaptchaOptions | undefined;
  /**
   * The number of your own proxies in front of the service: the client's address is then the n-th
   * from the right of `X-Forwarded-For`. 0 unless set: then it is the address of the socket.
   */
  readonly trustProxy?: number | undefined;
}

/** The options of abuse protection, described. */
export const abuseProtectionOptions = group(
  {
    budget: budgetOptions,
    pow: powOptions,
    captcha: captchaOptions,
    trustProxy: whole({ from: 0 }).unlessSet(0),
  } satisfies Described<AbuseProtectionOptions>,
).unlessSet({});

/** The options of abuse protection with their defaults. */
export interface ResolvedAbuseProtection {
  readonly budget: BudgetOptions | null;
  /** For gates of resources, which apply also where `powIsOn` is false. */
  pow(): ResolvedPowOptions;
  readonly powIsOn: boolean;
  readonly captcha: ResolvedCaptchaOptions | null;
  readonly trustProxy: number;
}

/**
 * Checks the options of abuse protection once, at start. Throws a plain Error that names the option
 * at fault.
 */
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
    // Resolved once a gate needs it: without one, a missing secret is no mistake.
    pow: () => resolvedPow ??= resolvePowOptions({}, isProduction, runtime),
    powIsOn: pow !== undefined,
    captcha: captcha === undefined ? null : resolveCaptchaOptions(captcha, isProduction),
    trustProxy,
  };
}
