import { environmentVariable } from "./system_runtime.ts";

/**
 * Returns the place where the variable `PORT` has this port, `.env` or the environment, or null if
 * the port comes from somewhere else.
 */
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
