import { type Described, group } from "../options/option.ts";
import { whole } from "../options/option_kinds.ts";
import type { Runtime } from "../runtime/runtime.ts";
import {
  budgetOptionDescriptions,
  type BudgetOptions,
  checkBudgetOptions,
} from "./budget/budget_options.ts";
import {
  captchaOptionDescriptions,
  type CaptchaOptions,
  resolveCaptchaOptions,
  type ResolvedCaptchaOptions,
} from "./captcha/captcha_options.ts";
import {
  powOptionDescriptions,
  type PowOptions,
  type ResolvedPowOptions,
  resolvePowOptions,
} from "./pow/pow_options.ts";

/** The app-wide options that prevent a few clients from using up the service's capacity. */
export interface AbuseProtectionOptions {
  /** The token budget of each caller, over all resources. Default: no limit. */
  readonly budget?: BudgetOptions | undefined;
  /** Lets callers with an exhausted budget continue by proof of work. Default: off. */
  readonly pow?: PowOptions | undefined;
  /** The provider that verifies CAPTCHA tokens. Default: none. */
  readonly captcha?: CaptchaOptions | undefined;
  /**
   * Number of your own proxies in front of the service. With n proxies, the client's address is
   * entry n from the right of `X-Forwarded-For`. Default: 0, the address of the socket.
   */
  readonly trustProxy?: number | undefined;
}

export const abuseProtectionOptionDescriptions = group(
  {
    budget: budgetOptionDescriptions,
    pow: powOptionDescriptions,
    captcha: captchaOptionDescriptions,
    trustProxy: whole({ from: 0 }).default(0),
  } satisfies Described<AbuseProtectionOptions>,
).default({});

export interface ResolvedAbuseProtection {
  readonly budget: BudgetOptions | null;
  /** Returns the options of proof of work, which a resource may require even without `pow`. */
  pow(): ResolvedPowOptions;
  readonly powIsOn: boolean;
  readonly captcha: ResolvedCaptchaOptions | null;
  readonly trustProxy: number;
}

/** Validates the options at start and sets defaults. Throws a plain Error for an invalid option. */
export function resolveAbuseProtection(
  options: AbuseProtectionOptions | undefined,
  isProduction: boolean,
  runtime: Runtime,
): ResolvedAbuseProtection {
  const { budget, pow, captcha, trustProxy } = abuseProtectionOptionDescriptions.read(options, {
    subject: "Cannot start",
    path: "abuseProtection",
  });
  if (budget !== undefined) checkBudgetOptions(budget);
  let resolvedPow = pow === undefined ? null : resolvePowOptions(pow, isProduction, runtime);
  return {
    budget: budget ?? null,
    // Resolving on first use makes a missing secret an error only if a gate needs proof of work.
    pow: () => resolvedPow ??= resolvePowOptions({}, isProduction, runtime),
    powIsOn: pow !== undefined,
    captcha: captcha === undefined ? null : resolveCaptchaOptions(captcha, isProduction),
    trustProxy,
  };
}
