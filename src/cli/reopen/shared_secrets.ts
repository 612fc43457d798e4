import { isInProduction } from "../../runtime/production.ts";
import { isRandomSecret } from "../../runtime/resolve_secrets.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import type { CliService } from "../cli_service.ts";

/** A random secret that several apps share if none is configured. */
export interface SharedSecret {
  readonly secret: string;
  /** The event that ends its validity, for the warning. Null if the warning was printed. */
  readonly endsWith: string | null;
}

/**
 * Returns the configuration of one of several apps of a service. In development, unset secrets are
 * random, and here equal in all apps. In production they are missing, and the start fails.
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
      // Many shells unset a variable by making it empty.
      environment: (name) =>
        environment(name) || (secrets.includes(name) ? `${name} ${secret}` : undefined),
    },
  };
}

const secrets: readonly [string, string] = ["SERVICE_SECRET", "SERVICE_POW_SECRET"];
