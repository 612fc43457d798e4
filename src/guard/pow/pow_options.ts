import { requireKnownOptions } from "../../problem/require_known_options.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import { resolveSecrets } from "../../runtime/resolve_secrets.ts";
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
  /** Gives the difficulty for a request, 0 to demand no work. */
  readonly trust?: Trust | undefined;
}

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
  requireKnownOptions(options, knownOptions, "Cannot use abuseProtection.pow");
  const { difficulty = 20, challengeTtlMs = 120_000, trust } = options;
  if (!Number.isInteger(difficulty) || difficulty < 1 || difficulty > maxDifficulty) {
    throw new Error(
      `Cannot use abuseProtection.pow.difficulty ${difficulty}: ` +
        `it must be a whole number from 1 to ${maxDifficulty}`,
    );
  }
  // A token has six bytes for the time at which it expires.
  if (
    !Number.isSafeInteger(challengeTtlMs) || challengeTtlMs <= 0 || challengeTtlMs > maxTtlMs
  ) {
    throw new Error(
      `Cannot use abuseProtection.pow.challengeTtlMs ${challengeTtlMs}: ` +
        "it must be a whole number over 0, and at most a day",
    );
  }
  if (trust !== undefined && typeof trust !== "function") {
    throw new Error("Cannot use abuseProtection.pow.trust: it must be a function");
  }
  const secrets = resolveSecrets({
    given: options.secret,
    option: "abuseProtection.pow.secret",
    variable: "SERVICE_POW_SECRET",
    consequence: "challenges are only good for this process",
    isProduction,
  }, runtime);
  return { secrets, difficulty, challengeTtlMs, trust };
}

const maxTtlMs = 86_400_000;

const knownOptions: Readonly<Record<keyof PowOptions, true>> = {
  secret: true,
  difficulty: true,
  challengeTtlMs: true,
  trust: true,
};
