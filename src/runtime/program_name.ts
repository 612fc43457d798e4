import { environmentVariable } from "./system_runtime.ts";

/** Returns the command that starts the command line, as the user has typed it, for messages. */
export function programName(): string {
  // The launchers of packages set this variable.
  const typed = environmentVariable("SERVICE_PROGRAM");
  if (typed !== undefined && typed !== "") return typed;
  if (import.meta.url.includes("/node_modules/")) return "npx resource-api";
  const isPublished = import.meta.url.startsWith("http");
  return `deno run -A ${isPublished ? "jsr:@svc/resource-api/cli" : "cli.ts"}`;
}
