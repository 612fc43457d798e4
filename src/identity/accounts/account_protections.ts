import type { Guard } from "../../guard/guard.ts";
import type { AccountProtectionOptions } from "../../guard/operation_protection.ts";
import type { ResolvedPasswordAuthOptions } from "./password_auth_options.ts";

export type AccountProtections = ReturnType<typeof resolveAccountProtections>;

interface GateOptions extends Pick<AccountProtectionOptions, "cost" | "pow"> {
  readonly captcha: boolean | { readonly action?: string | undefined };
}

export function resolveAccountProtections(
  { login: { captcha, pow, cost: { failed: cost } }, signup, passwordReset }:
    ResolvedPasswordAuthOptions,
  guard: Guard,
) {
  const protect = (name: string, { cost, pow, captcha }: GateOptions) => {
    const required = { action: typeof captcha === "object" ? captcha.action : undefined };
    const path = `passwordAuth.${name}`;
    return guard.protectAccounts({ path, cost, pow, captcha: captcha === false ? null : required });
  };
  const byRisk = typeof captcha === "object" && captcha.required !== undefined;
  return {
    login: protect("login", { cost, pow, captcha: byRisk ? false : captcha }),
    risky: byRisk ? protect("login", { cost, pow, captcha }) : null,
    signup: signup === false ? null : protect("signup", signup),
    reset: passwordReset === false ? null : protect("passwordReset", passwordReset),
  };
}
