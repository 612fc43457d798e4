import { oneOf } from "../options/option_kinds.ts";
import { isOnDenoDeploy } from "./deno_deploy.ts";
import type { Runtime } from "./runtime.ts";

export const envOptionRule = oneOf("development", "production");

/** Returns true if `env`, or else `SERVICE_ENV`, is `production`. Always true on Deno Deploy. */
export function isInProduction(
  env: "development" | "production" | undefined,
  runtime: Pick<Runtime, "environment">,
): boolean {
  const variable = "SERVICE_ENV";
  // Many shell scripts set a variable to the empty string to remove it.
  const inherited = runtime.environment(variable) || undefined;
  const found = env ?? envOptionRule.read(inherited, { subject: "Cannot start", path: variable });
  return found === "production" || isOnDenoDeploy(runtime);
}
