import type { Guard } from "../../guard/guard.ts";
import type {
  AccountProtectionOptions,
  OperationProtection,
} from "../../guard/operation_protection.ts";
import type { ResolvedPasswordAuthOptions } from "./password_auth_options.ts";

export interface AccountProtections {
  readonly login: OperationProtection;
  /** The protection of a login that the risk check finds risky. Null without a risk check. */
  readonly risky: OperationProtection | null;
  readonly signup: OperationProtection | null;
  readonly reset: OperationProtection | null;
}

/** Returns the limits and requirements of account routes. Throws for a wrong option. */
export function resolveAccountProtections(
  { login, signup, passwordReset }: ResolvedPasswordAuthOptions,
  guard: Guard,
): AccountProtections {
  const protect = (name: string, options: Omit<AccountProtectionOptions, "path">) =>
    guard.protectAccounts({ path: `passwordAuth.${name}`, ...options });
  const { captcha, pow, cost: { failed: cost } } = login;
  const ofLogin = captchaOf(captcha);
  const byRisk = typeof captcha === "object" && captcha.required !== undefined;
  return {
    login: protect("login", { cost, pow, captcha: byRisk ? null : ofLogin }),
    risky: byRisk ? protect("login", { cost, pow, captcha: ofLogin }) : null,
    signup: signup === false
      ? null
      : protect("signup", { ...signup, captcha: captchaOf(signup.captcha) }),
    reset: passwordReset === false
      ? null
      : protect("passwordReset", { ...passwordReset, captcha: captchaOf(passwordReset.captcha) }),
  };
}

function captchaOf(
  given: boolean | { readonly action?: string | undefined },
): AccountProtectionOptions["captcha"] {
  if (given === false) return null;
  return { action: given === true ? undefined : given.action };
}
