import type { Runtime } from "./runtime.ts";

/** Returns true on Deno Deploy, where the disk of an instance is lost when the instance stops. */
export function isOnDenoDeploy({ environment }: Pick<Runtime, "environment">): boolean {
  return environment("DENO_DEPLOYMENT_ID") !== undefined ||
    environment("DENO_DEPLOY") !== undefined;
}
