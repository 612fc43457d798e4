import { groupOf } from "../../options/option.ts";
import { callback, whole } from "../../options/option_kinds.ts";
import { resolveSecrets, secretOptionRule } from "../../runtime/resolve_secrets.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import { maxDifficulty, type Trust } from "./difficulty.ts";

/** The options of proof of work for the whole service. */
export interface PowOptions {
  /**
   * The secret that signs challenges. In a list for rotation, the first secret signs and all
   * verify. Default: `SERVICE_POW_SECRET`. Without a secret, the app does not start in production,
   * and otherwise reports this and uses a random secret.
   */
  readonly secret?: string | readonly string[] | undefined;
  /** Number of leading zero bits in a solution, 1 to 32. Each bit doubles the work. Default: 20. */
  readonly difficulty?: number | undefined;
  /** How long a challenge is valid, in milliseconds. Default: 120,000. */
  readonly challengeTtlMs?: number | undefined;
  /** Returns the difficulty for a request; 0 requires no work. Default: always `difficulty`. */
  readonly trust?: Trust | undefined;
}

export const powOptionRules = groupOf<PowOptions>()({
  secret: secretOptionRule(),
  difficulty: whole({ from: 1, to: maxDifficulty }).default(20),
  // A token stores its expiry in six bytes. Up to this maximum, the expiry fits into them.
  challengeTtlMs: whole({ from: 1, to: 86_400_000 }).default(120_000),
  trust: callback<Trust>(),
});

export type ResolvedPowOptions = ReturnType<typeof resolvePowOptions>;

export function resolvePowOptions(options: PowOptions, isProduction: boolean, runtime: Runtime) {
  const { secret, ...others } = powOptionRules.required().read(options, {
    subject: "Cannot start",
    path: "abuseProtection.pow",
  });
  const secrets = resolveSecrets({
    given: secret,
    option: "abuseProtection.pow.secret",
    variable: "SERVICE_POW_SECRET",
    consequence: "challenges are only good for this process",
    isProduction,
  }, runtime);
  return { ...others, secrets };
}
