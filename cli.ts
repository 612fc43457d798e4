/**
 * The command line. `deno run -A cli.ts --help` lists its commands and options.
 *
 * @module
 */
import { runCommandLine } from "./src/cli/command_line.ts";
import manifest from "./deno.json" with { type: "json" };

if (import.meta.main) {
  const program = { version: manifest.version, url: import.meta.url };
  // The exit is explicit: a connection that outlived the graceful stop must not hold the process.
  Deno.exit(await runCommandLine(Deno.args, program));
}
