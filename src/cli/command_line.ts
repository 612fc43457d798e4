import { unreachable } from "../problem/unreachable.ts";
import { type Command, helpText, parseArguments } from "./arguments.ts";
import { restartWithKv } from "./restart_with_kv.ts";

/** The exit codes of the command line: stopped, failed at run time, invalid arguments. */
export const exitCodes = { stopped: 0, failed: 1, misused: 2 } as const;

/**
 * The program that was started at the command line: its version, and the URL of its main module.
 */
export interface Program {
  readonly version: string;
  readonly url: string;
}

/** Runs the command line: the command of the arguments; returns the exit code. */
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
      // Imported here only, because it loads the whole service.
      const { runServeCommand: runService } = await import("./run_serve_command.ts");
      return await runService(command, program.version);
    }
    case "keys":
    case "users": {
      const exitCode = await restartWithKv(program.url, args);
      if (exitCode !== null) return exitCode;
      const { runAccountCommand } = await import("./run_account_command.ts");
      return await runAccountCommand(command);
    }
    default:
      return unreachable(command);
  }
}
