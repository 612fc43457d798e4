/** Runs commands of the command line one after the other: their arguments are JSON. */
import { runCommandLine } from "../../src/cli/command_line.ts";
import { root } from "../repository/module_graph.ts";

const commands: readonly (readonly string[])[] = JSON.parse(Deno.args[0] ?? "[]");
const program = { version: "0.0.0", url: `file://${root}cli.ts` };
for (const words of commands) {
  console.log(`exit code ${await runCommandLine(words, program)}`);
}
Deno.exit(0);
