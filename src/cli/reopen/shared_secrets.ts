import { isInProduction } from "../../runtime/production.ts";
import { isRandomSecret } from "../../runtime/resolve_secrets.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import type { CliService } from "../cli_service.ts";

/** A random secret that several apps share, where none is set. */
export interface SharedSecret {
  readonly secret: string;
  /** With what it ends, for the notice; null if that has been said. */
  readonly endsWith: string | null;
}

/**
 * The configuration of one of several apps of a service in development, where secrets that are set
 * nowhere are random: here they are the same in every app. In production they are missing, and the
 * start fails.
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
      // An empty variable is how many shells unset one.
      environment: (name) =>
        environment(name) || (secrets.includes(name) ? `${name} ${secret}` : undefined),
    },
  };
}

const secrets: readonly [string, string] = ["SERVICE_SECRET", "SERVICE_POW_SECRET"];
