import type { Option } from "../options/option.ts";
import { testedValue } from "../options/option_kinds.ts";
import { bytesToBase64 } from "../protocol/byte_text.ts";
import type { Runtime } from "./runtime.ts";

export interface SecretSource {
  /** The value of the option. In a list, the first secret encrypts, and all secrets decrypt. */
  readonly given: string | readonly string[] | undefined;
  readonly option: string;
  readonly variable: string;
  readonly consequence: string;
  /** True in production, where the app does not start with a random secret. */
  readonly isProduction: boolean;
}

const minSecretLength = 16;

export function secretOptionRule(): Option<string | readonly string[] | undefined> {
  return testedValue<string | readonly string[]>(
    `a string of ${minSecretLength} characters or more, or a list of such strings`,
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

export function isRandomSecret(
  { given, variable }: Pick<SecretSource, "given" | "variable">,
  runtime: Runtime,
): boolean {
  const secret = given ?? runtime.environment(variable);
  return secret === undefined || secret.length === 0;
}

/** Returns the configured secrets, or null if none is set. Throws an Error for a short secret. */
export function findSecrets(
  { given, option, variable }: Pick<SecretSource, "given" | "option" | "variable">,
  runtime: Runtime,
): readonly string[] | null {
  // Many shell scripts set a variable to the empty string to remove it.
  const inherited = runtime.environment(variable) || undefined;
  const path = given === undefined ? variable : option;
  const found = secretOptionRule().read(given ?? inherited, { subject: "Cannot start", path });
  return found === undefined ? null : [found].flat();
}

/** Like {@link findSecrets}. If no secret is set, creates a random one, or throws in production. */
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
