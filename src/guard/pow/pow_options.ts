import { type Described, group } from "../../options/option.ts";
import { callback, whole } from "../../options/option_kinds.ts";
import { resolveSecrets, secretOption } from "../../runtime/resolve_secrets.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import { maxDifficulty, type Trust } from "./difficulty.ts";

/** The options of proof of work for the whole service. */
export interface PowOptions {
  /**
   * Signs challenges. A list rotates: the first signs, all verify. Unset, `SERVICE_POW_SECRET` is
   * read; without that it is random, with a notice, and in production the start fails.
   */
  readonly secret?: string | readonly string[] | undefined;
  /** Leading zero bits that a solution needs, 1 to 32; 20 unless set. Each doubles the work. */
  readonly difficulty?: number | undefined;
  /** How long a challenge may be solved, in milliseconds; 120,000 unless set. */
  readonly challengeTtlMs?: number | undefined;
  /** Returns the difficulty for a request, 0 to demand no work. */
  readonly trust?: Trust | undefined;
}

/** The options of proof of work, described. */
export const powOptions = group(
  {
    secret: secretOption(),
    difficulty: whole({ from: 1, to: maxDifficulty }).unlessSet(20),
    // A token has six bytes for the time at which it expires.
    challengeTtlMs: whole({ from: 1, to: 86_400_000 }).unlessSet(120_000),
    trust: callback<Trust>(),
  } satisfies Described<PowOptions>,
);

/** The options of proof of work with their defaults. */
export interface ResolvedPowOptions {
  readonly secrets: readonly string[];
  readonly difficulty: number;
  readonly challengeTtlMs: number;
  readonly trust: Trust | undefined;
}

/**
 * Checks the options of proof of work once, at start. Throws a plain Error that names the option at
 * fault.
 */
export function resolvePowOptions(
  options: PowOptions,
  isProduction: boolean,
  runtime: Runtime,
): ResolvedPowOptions {
  const { secret, ...others } = powOptions.required().read(options, {
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
