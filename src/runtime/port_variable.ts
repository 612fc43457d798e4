import { environmentVariable } from "./system_runtime.ts";

/** Returns `.env` or `the environment` if the variable `PORT` has this port there, or else null. */
export function placeOfPortVariable(port: number): string | null {
  if (environmentVariable("PORT") !== String(port)) return null;
  return isInSettings(port) ? ".env" : "the environment";
}

function isInSettings(port: number): boolean {
  try {
    return RegExp(`^PORT=["']?${port}\\b`, "m").test(Deno.readTextFileSync(".env"));
  } catch {
    return false;
  }
}
