import type { Runtime } from "./runtime.ts";

/** Returns true if the process is an instance on Deno Deploy, whose disk is lost when it stops. */
export function isOnDenoDeploy({ environment }: Pick<Runtime, "environment">): boolean {
  return environment("DENO_DEPLOYMENT_ID") !== undefined ||
    environment("DENO_DEPLOY") !== undefined;
}
