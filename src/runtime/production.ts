import { oneOf } from "../options/option_kinds.ts";
import { isOnDenoDeploy } from "./deno_deploy.ts";
import type { Runtime } from "./runtime.ts";

/** Describes the option `env`. `SERVICE_ENV` takes the same values. */
export const envOption = oneOf("development", "production");

/**
 * Returns true if this is production: by the option, or by `SERVICE_ENV` if the option is not set,
 * and always on Deno Deploy.
 */
export function isInProduction(
  env: "development" | "production" | undefined,
  runtime: Pick<Runtime, "environment">,
): boolean {
  const variable = "SERVICE_ENV";
  // Many shells unset a variable by making it empty.
  const inherited = runtime.environment(variable) || undefined;
  const found = env ?? envOption.read(inherited, { subject: "Cannot start", path: variable });
  return found === "production" || isOnDenoDeploy(runtime);
}
