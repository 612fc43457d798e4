import { unreachable } from "../problem/unreachable.ts";
import { type Command, helpText, parseArguments } from "./arguments.ts";
import { restartWithKv } from "./restart_with_kv.ts";

/** What the process says when it ends: stopped, failed while running, or wrongly started. */
export const exitCodes = { stopped: 0, failed: 1, misused: 2 } as const;

/** What was started: its version, and the URL of its first file. */
export interface Program {
  readonly version: string;
  readonly url: string;
}

/** Does what the arguments say; gives the exit code. */
export async function runCommandLine(args: readonly string[], program: Program): Promise<number> {
  const command: Command = parseArguments(args);
  switch (command.kind) {
    case "help":
      console.log(helpText);
      return exitCodes.stopped;
    case "version":
      console.log(program.version);
      return exitCodes.stopped;
    case "misused":
      console.error(`${command.message}\nTry --help.`);
      return exitCodes.misused;
    case "serve": {
      const exitCode = await restartWithKv(program.url, args);
      if (exitCode !== null) return exitCode;
      // Only here: the whole service is behind this import.
      const { runServeCommand: runService } = await import("./run_serve_command.ts");
      return await runService(command, program.version);
    }
    default:
      return unreachable(command);
  }
}
