import { parseArguments, type RunnableCommand } from "./arguments.ts";
import { helpOf } from "./help.ts";
import { programName } from "../runtime/program_name.ts";
import type * as Mcp from "./mcp/run_mcp_command.ts";
import { reportFailure } from "./printable.ts";
import type { ServeCommand } from "./serve_arguments.ts";
import { hasAllPermissions, restartWithKv } from "./restart_with_kv.ts";
import { superviseWorkers } from "./workers/supervise_workers.ts";
import { takeShare } from "./workers/worker_share.ts";

export const exitCodes = { stopped: 0, failed: 1, misused: 2 } as const;

export interface Program {
  readonly version: string;
  readonly url: string;
}

export async function runCommandLine(args: readonly string[], program: Program): Promise<number> {
  const command = parseArguments(args);
  switch (command.kind) {
    case "help":
      console.log(helpOf(programName(), command.command));
      return exitCodes.stopped;
    case "version":
      console.log(program.version);
      return exitCodes.stopped;
    case "misused":
      console.error(`${command.message}\nTry --help.`);
      return exitCodes.misused;
    case "serve":
      return await serve(command, args, program);
    default: {
      const usesStore = !withoutStore.has(command.kind);
      const exitCode = usesStore ? await restartWithKv(program.url, args) : null;
      try {
        return exitCode ?? await run(command, program);
      } catch (error) {
        const exitCode = failing.has(command.kind) ? exitCodes.failed : exitCodes.misused;
        const { database } = command.kind === "check"
          ? command.start
          : { database: null, ...command };
        return reportFailure(error, exitCode, database);
      }
    }
  }
}

type CommandKind = RunnableCommand["kind"];

/** The commands that open no key-value store, so that they need no --unstable-kv. */
const withoutStore: ReadonlySet<CommandKind> = new Set([
  ...["mcp", "uninstall", "init", "dev"] as const,
]);

/** The commands whose errors are failures (exit code 1), not mistakes of the user (2). */
const failing: ReadonlySet<CommandKind> = new Set(["migrate", "uninstall", "backup", "restore"]);

/** Runs a command, and returns its exit code. Imports only the code that this command needs. */
async function run(command: RunnableCommand, program: Program): Promise<number> {
  const { version } = program;
  switch (command.kind) {
    case "init":
      return await (await import("./init/run_init_command.ts")).runInitCommand(command, program);
    case "dev":
      return await (await import("./dev/run_dev_command.ts")).runDevCommand(command, program);
    case "keys":
    case "users":
      return await (await import("./run_account_command.ts")).runAccountCommand(command);
    case "credits":
      return await (await import("./credits/run_credits_command.ts")).runCreditsCommand(command);
    case "import":
      return await (await import("./import/run_import_command.ts")).runImportCommand(command);
    case "mcp": {
      // The cast is safe: the module at that path exports this function.
      return await (await import(mcpCommand) as typeof Mcp).runMcpCommand(command);
    }
    case "migrate":
      return await (await import("./migrate/run_migrate_command.ts")).runMigrateCommand(command);
    case "check":
      return await (await import("./check/run_check_command.ts")).runCheckCommand(command);
    case "describe":
      return await (await import("./describe/run_describe_command.ts")).runDescribeCommand(command);
    case "outbox":
      return await (await import("./search/run_outbox_command.ts")).runOutboxCommand(command);
    case "search":
      return await (await import("./search/run_search_command.ts")).runSearchCommand(command);
    case "backup": {
      const { runBackupCommand } = await import("./backup/run_backup_command.ts");
      return await runBackupCommand(command, version);
    }
    case "restore": {
      const { runRestoreCommand } = await import("./backup/run_restore_command.ts");
      return await runRestoreCommand(command, version);
    }
    case "uninstall": {
      const { runUninstallCommand } = await import("./uninstall/run_uninstall_command.ts");
      return await runUninstallCommand(command);
    }
  }
}

/** A variable, because Deno downloads the packages of a literal `import()` at every start. */
const mcpCommand = "./mcp/run_mcp_command.ts";

/** Imports the service on demand, because a supervisor of workers does not need it. */
async function serve(
  command: ServeCommand,
  args: readonly string[],
  { url, version }: Program,
): Promise<number> {
  const share = takeShare();
  if (share !== null) {
    const { runWorker } = await import("./workers/run_worker.ts");
    return await runWorker(command, version, share);
  }
  const { workers } = command;
  if (workers !== null) {
    const obstacle = whyNoWorkers();
    if (obstacle === null) return await superviseWorkers({ program: url, args, count: workers });
    console.error(`Cannot start workers: ${obstacle}`);
    return exitCodes.misused;
  }
  const exitCode = await restartWithKv(url, args);
  if (exitCode !== null) return exitCode;
  const { runServeCommand } = await import("./run_serve_command.ts");
  return await runServeCommand(command, version);
}

function whyNoWorkers(): string | null {
  if (!hasAllPermissions()) return "they have all permissions, so start with deno run -A";
  return Deno.build.os === "linux" ? null : "only Linux distributes the connections of one port";
}
