import { oneOf } from "../options/option_kinds.ts";
import { isOnDenoDeploy } from "./deno_deploy.ts";
import type { Runtime } from "./runtime.ts";

/** The option `env`, described; `SERVICE_ENV` takes the same values. */
export const envOption = oneOf("development", "production");

/** Returns true if this is production: by the option, else by `SERVICE_ENV`, and always on Deno Deploy. */
export function isInProduction(
  env: "development" | "production" | undefined,
  runtime: Pick<Runtime, "environment">,
): boolean {
  const variable = "SERVICE_ENV";
  // An empty variable is how many shells unset one.
  const inherited = runtime.environment(variable) || undefined;
  const found = env ?? envOption.read(inherited, { subject: "Cannot start", path: variable });
  return found === "production" || isOnDenoDeploy(runtime);
}
