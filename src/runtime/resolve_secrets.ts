import type { Option } from "../options/option.ts";
import { other } from "../options/option_kinds.ts";
import { bytesToBase64 } from "../protocol/byte_text.ts";
import type { Runtime } from "./runtime.ts";

/** Where a secret is resolved from, and the consequence of having none. */
export interface SecretSource {
  /** The value of the option; a list rotates. */
  readonly given: string | readonly string[] | undefined;
  /** The name of the option, for errors. */
  readonly option: string;
  /** The environment variable that is read where the option is not set. */
  readonly variable: string;
  /** The consequence of a random secret, for the notice. */
  readonly consequence: string;
  /** In production the start fails instead of taking a random secret. */
  readonly isProduction: boolean;
}

const minSecretLength = 16;

/** An option that is a secret, or several of which the first seals. */
export function secretOption(): Option<string | readonly string[] | undefined> {
  return other<string | readonly string[]>(
    `a text of ${minSecretLength} characters or more, or a list of such texts`,
    (given) => Array.isArray(given) ? given.length > 0 && given.every(isSecret) : isSecret(given),
  ).advising((given) => {
    const [first, ...more] = [given].flat();
    const areTexts = [first, ...more].every((one) => typeof one === "string");
    return areTexts ? `is shorter than ${minSecretLength} characters` : null;
  });
}

function isSecret(given: unknown): boolean {
  return typeof given === "string" && given.length >= minSecretLength;
}

/** Returns true if a secret will resolve to a random one, because none is set. */
export function isRandomSecret(
  { given, variable }: Pick<SecretSource, "given" | "variable">,
  runtime: Runtime,
): boolean {
  const secret = given ?? runtime.environment(variable);
  return secret === undefined || secret.length === 0;
}

/**
 * The secrets of an option or of the environment; null if none is set. Throws a plain Error for
 * one that is too short.
 */
export function findSecrets(
  { given, option, variable }: Pick<SecretSource, "given" | "option" | "variable">,
  runtime: Runtime,
): readonly string[] | null {
  // An empty variable is how many shells unset one.
  const inherited = runtime.environment(variable) || undefined;
  const path = given === undefined ? variable : option;
  const found = secretOption().read(given ?? inherited, { subject: "Cannot start", path });
  return found === undefined ? null : [found].flat();
}

/**
 * Resolves the secrets of an option or of the environment, at least one. Throws a plain Error for
 * one that is too short or missing.
 */
export function resolveSecrets(source: SecretSource, runtime: Runtime): readonly string[] {
  const { option, variable } = source;
  const found = findSecrets(source, runtime);
  if (found !== null) return found;
  if (source.isProduction) {
    throw new Error(`Cannot start in production: ${option} is missing (set ${variable})`);
  }
  runtime.observe({
    kind: "notice",
    message: `no ${option} is set: ${source.consequence} (set ${variable})`,
  });
  return [bytesToBase64(runtime.random.bytes(32))];
}
