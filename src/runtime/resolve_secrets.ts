import type { Option } from "../options/option.ts";
import { other } from "../options/option_kinds.ts";
import { bytesToBase64 } from "../protocol/byte_text.ts";
import type { Runtime } from "./runtime.ts";

/** The source of a secret, and the consequence if none is set. */
export interface SecretSource {
  /** The value of the option. A list rotates. */
  readonly given: string | readonly string[] | undefined;
  /** The name of the option, for errors. */
  readonly option: string;
  /** The environment variable that is read if the option is not set. */
  readonly variable: string;
  /** The consequence of a random secret, for the notice. */
  readonly consequence: string;
  /** True in production, where the start fails instead of using a random secret. */
  readonly isProduction: boolean;
}

const minSecretLength = 16;

/** Describes an option that is a secret, or a list of secrets of which the first seals. */
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

/** Returns true if the secret will be random, because none is set. */
export function isRandomSecret(
  { given, variable }: Pick<SecretSource, "given" | "variable">,
  runtime: Runtime,
): boolean {
  const secret = given ?? runtime.environment(variable);
  return secret === undefined || secret.length === 0;
}

/**
 * Returns the secrets of an option or of the environment; null if none is set. Throws a plain Error
 * if a secret is too short.
 */
export function findSecrets(
  { given, option, variable }: Pick<SecretSource, "given" | "option" | "variable">,
  runtime: Runtime,
): readonly string[] | null {
  // Many shells unset a variable by making it empty.
  const inherited = runtime.environment(variable) || undefined;
  const path = given === undefined ? variable : option;
  const found = secretOption().read(given ?? inherited, { subject: "Cannot start", path });
  return found === undefined ? null : [found].flat();
}

/**
 * Resolves the secrets of an option or of the environment, at least one. Throws a plain Error if a
 * secret is too short or missing.
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
