import { isInProduction } from "../../runtime/production.ts";
import { isRandomSecret } from "../../runtime/resolve_secrets.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import type { CliService } from "../cli_service.ts";

/** A random secret for several apps that have none in their configuration. */
export interface SharedSecret {
  readonly secret: string;
  /** The end of the warning "cursors end with …", such as `this process`. Null: no warning. */
  readonly endsWith: string | null;
}

/**
 * Returns the configuration of one of several apps. In development, they share random values for
 * secrets that are not set. In production, a missing secret prevents the start.
 */
export function withSharedSecrets(
  config: CliService["config"],
  { secret, endsWith }: SharedSecret,
  runtime: Runtime,
): CliService["config"] {
  const { environment, observe } = runtime;
  if (isInProduction(config.env, runtime)) return config;
  const [variable] = secrets;
  if (endsWith !== null && isRandomSecret({ given: config.secret, variable }, runtime)) {
    const message = `no secret is set: cursors end with ${endsWith} (set ${variable})`;
    observe({ kind: "notice", message });
  }
  return {
    ...config,
    runtime: {
      ...runtime,
      // Shell scripts often set a variable to an empty string in order to unset it.
      environment: (name) =>
        environment(name) || (secrets.includes(name) ? `${name} ${secret}` : undefined),
    },
  };
}

const secrets: readonly [string, string] = ["SERVICE_SECRET", "SERVICE_POW_SECRET"];
