import { requireKnownOptions } from "../problem/known_options.ts";
import { showValue } from "../problem/show_value.ts";
import type { Runtime } from "../runtime/runtime.ts";
import { type BudgetOptions, checkBudget } from "./budget/budget_options.ts";
import {
  type CaptchaOptions,
  resolveCaptchaOptions,
  type ResolvedCaptchaOptions,
} from "./captcha/captcha_options.ts";
import { type PowOptions, type ResolvedPowOptions, resolvePowOptions } from "./pow/pow_options.ts";

/** What keeps the service from being used up by a few. */
export interface AbuseProtectionOptions {
  /** How much each caller may ask of the whole service. None unless set. */
  readonly budget?: BudgetOptions | undefined;
  /** Lets proof of work stand in for a budget that has run out. Off unless set. */
  readonly pow?: PowOptions | undefined;
  /** Who makes and checks CAPTCHAs. None unless set. */
  readonly captcha?: CaptchaOptions | undefined;
  /**
   * How many proxies of your own stand before the service: the client's address is then the n-th
   * from the right of `X-Forwarded-For`. 0 unless set, which is the address of the socket.
   */
  readonly trustProxy?: number | undefined;
}

/** The options with every default in its place. */
export interface ResolvedAbuseProtection {
  readonly budget: BudgetOptions | null;
  /** For gates, which stand also where `powIsOn` is false. */
  pow(): ResolvedPowOptions;
  readonly powIsOn: boolean;
  readonly captcha: ResolvedCaptchaOptions | null;
  readonly trustProxy: number;
}

/** Checks the options once, at start. Throws a plain Error that names the option at fault. */
export function resolveAbuseProtection(
  options: AbuseProtectionOptions | undefined,
  isProduction: boolean,
  runtime: Runtime,
): ResolvedAbuseProtection {
  checkAbuse(options);
  const { budget, pow, captcha, trustProxy = 0 } = options ?? {};
  if (budget !== undefined) checkBudget(budget);
  if (!Number.isSafeInteger(trustProxy) || trustProxy < 0) {
    throw new Error(
      `Cannot use abuseProtection.trustProxy ${showValue(trustProxy)}: ` +
        "it must be the number of your own proxies",
    );
  }
  let settled = pow === undefined ? null : resolvePowOptions(pow, isProduction, runtime);
  return {
    budget: budget ?? null,
    // Only once a gate needs it: a secret that nobody uses must not be missed.
    pow: () => settled ??= resolvePowOptions({}, isProduction, runtime),
    powIsOn: pow !== undefined,
    captcha: captcha === undefined ? null : resolveCaptchaOptions(captcha, isProduction),
    trustProxy,
  };
}

const knownOptions: Readonly<Record<keyof AbuseProtectionOptions, true>> = {
  budget: true,
  pow: true,
  captcha: true,
  trustProxy: true,
};

function checkAbuse(options: unknown): void {
  if (options === undefined) return;
  if (typeof options !== "object" || options === null) {
    throw new Error(`Cannot start: abuseProtection must be an object, not ${showValue(options)}`);
  }
  requireKnownOptions(options, knownOptions, "Cannot start: abuseProtection");
  for (const name of ["budget", "pow", "captcha"] as const) {
    const value = new Map<string, unknown>(Object.entries(options)).get(name);
    if (value === undefined || (typeof value === "object" && value !== null)) continue;
    throw new Error(
      `Cannot start: abuseProtection.${name} must be an object, not ${showValue(value)}`,
    );
  }
}
