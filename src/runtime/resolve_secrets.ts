import type { Runtime } from "./runtime.ts";

/** Where a secret comes from, and what it means to have none. */
export interface SecretSource {
  /** What the configuration says; a list rotates. */
  readonly given: string | readonly string[] | undefined;
  /** The option, as errors name it. */
  readonly option: string;
  /** The variable of the environment that is read where the option is not set. */
  readonly variable: string;
  /** What a random secret means, for the notice. */
  readonly consequence: string;
  /** In production the start fails where otherwise a random secret would do. */
  readonly isProduction: boolean;
}

/** Whether a random secret takes the place of one that nobody has set. */
export function isRandomSecret(
  { given, variable }: Pick<SecretSource, "given" | "variable">,
  runtime: Runtime,
): boolean {
  const secret = given ?? runtime.environment(variable);
  return secret === undefined || secret.length === 0;
}

/** The secrets, at least one. Throws a plain Error for one that is too short or missing. */
export function resolveSecrets(source: SecretSource, runtime: Runtime): readonly string[] {
  const { option, variable } = source;
  const given = source.given ?? runtime.environment(variable);
  const secrets = given === undefined || given === ""
    ? []
    : typeof given === "string"
    ? [given]
    : given;
  // For those who write JavaScript: a number would be signed with as it is printed.
  if (!Array.isArray(secrets) || !secrets.every((secret) => typeof secret === "string")) {
    throw new Error(`Cannot use this ${option}: it must be a text or a list of texts`);
  }
  if (secrets.some((secret) => secret.length < shortestSecret)) {
    throw new Error(`Cannot use this ${option}: it is shorter than ${shortestSecret} characters`);
  }
  if (secrets.length > 0) return secrets;
  if (source.isProduction) {
    throw new Error(`Cannot start in production: ${option} is missing (set ${variable})`);
  }
  runtime.observe({
    kind: "notice",
    message: `no ${option} is set: ${source.consequence} (set ${variable})`,
  });
  return [runtime.random.bytes(32).toBase64()];
}

const shortestSecret = 16;
