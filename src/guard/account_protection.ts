import { type Described, either, group } from "../options/option.ts";
import { callback, flag, whole } from "../options/option_kinds.ts";
import type { ResolvedAbuseProtection } from "./abuse_protection_options.ts";
import { anonymousClass } from "./budget/budget_options.ts";
import { requireCaptchaVerifier } from "./captcha/captcha_options.ts";
import { maxDifficulty, type Trust } from "./pow/difficulty.ts";
import {
  type OperationProtection,
  requirePayableCost,
  resolvePowGate,
} from "./operation_protection.ts";
import type { PowGateOptions } from "./resource_protection_options.ts";

/** The options of the proof of work that an account route always requires. */
export type AccountPowOptions = Omit<PowGateOptions, "operations">;

/** The default budget of an IP address for account routes, so that passwords cannot be guessed. */
export const defaultAccountBudget = { capacity: 20, refillPerMinute: 10 } as const;

export const accountPowOptionRule = either(
  flag(),
  group(
    {
      difficulty: whole({ from: 1, to: maxDifficulty }),
      trust: callback<Trust>(),
    } satisfies Described<AccountPowOptions>,
  ),
).default(false);

/** The limits and requirements of an account route, such as login, signup or password reset. */
export interface AccountProtectionOptions {
  /** Path of the route's options in error messages, for example `passwordAuth.login`. */
  readonly path: string;
  readonly cost: number;
  readonly pow: boolean | AccountPowOptions;
  /** The required CAPTCHA, or null if the route requires none. */
  readonly captcha: { readonly action: string | undefined } | null;
}

/**
 * Returns the protection of an account route. Throws a plain Error if it requires a CAPTCHA without
 * a verifier, or if its cost exceeds the capacity of every budget.
 */
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
