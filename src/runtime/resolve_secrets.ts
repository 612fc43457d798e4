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

/** Whether a secret will resolve to a random one, because none is set. */
export function isRandomSecret(
  { given, variable }: Pick<SecretSource, "given" | "variable">,
  runtime: Runtime,
): boolean {
  const secret = given ?? runtime.environment(variable);
  return secret === undefined || secret.length === 0;
}

/**
 * Resolves the secrets of an option or of the environment, at least one. Throws a plain Error for
 * one that is too short or missing.
 */
export function resolveSecrets(source: SecretSource, runtime: Runtime): readonly string[] {
  const { option, variable } = source;
  const given = source.given ?? runtime.environment(variable);
  const secrets = given === undefined || given === ""
    ? []
    : typeof given === "string"
    ? [given]
    : given;
  // For callers in JavaScript: a number would be signed with as it is printed.
  if (!Array.isArray(secrets) || !secrets.every((secret) => typeof secret === "string")) {
    throw new Error(`Cannot use this ${option}: it must be a text or a list of texts`);
  }
  if (secrets.some((secret) => secret.length < minSecretLength)) {
    throw new Error(`Cannot use this ${option}: it is shorter than ${minSecretLength} characters`);
  }
  if (secrets.length > 0) return secrets;
  if (source.isProduction) {
    throw new Error(`Cannot start in production: ${option} is missing (set ${variable})`);
  }
  runtime.observe({
    kind: "notice",
    message: `no ${option} is set: ${source.consequence} (set ${variable})`,
  });
  return [bytesToBase64(runtime.random.bytes(32))];
}

const minSecretLength = 16;
