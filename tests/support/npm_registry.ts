import { scratchFolder } from "./scratch.ts";

/** Null, or why a new cache cannot be filled here. */
export async function npmUnreachable(): Promise<string | null> {
  await using cache = await scratchFolder();
  const command = new Deno.Command(Deno.execPath(), {
    args: ["cache", "-q", "--no-lock", "--no-config", "npm:postgres@3.4.9"],
    env: { DENO_DIR: cache.path },
    stderr: "null",
  });
  return (await command.output()).success ? null : "npm packages cannot be downloaded here";
}
