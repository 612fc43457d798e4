import { environmentVariable } from "./system_runtime.ts";

/** Returns the place that sets `PORT` to this port: `.env` or `the environment`. Null if none. */
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
