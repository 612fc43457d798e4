import {
  accountHelp,
  type KeysCommand,
  parseKeysArguments,
  parseUsersArguments,
  type UsersCommand,
} from "./account_arguments.ts";
import { Misuse } from "./command_options.ts";
import {
  type CreditsCommand,
  creditsHelp,
  parseCreditsArguments,
} from "./credits/credits_arguments.ts";
import { additionsHelp } from "./database/additions.ts";
import {
  type DescribeCommand,
  describeHelp,
  parseDescribeArguments,
} from "./describe/describe_arguments.ts";
import { type ImportCommand, importHelp, parseImportArguments } from "./import/import_arguments.ts";
import { type McpCommand, mcpHelp, parseMcpArguments } from "./mcp/mcp_arguments.ts";
import {
  type MigrateCommand,
  migrateHelp,
  parseMigrateArguments,
} from "./migrate/migrate_arguments.ts";
import { type OutboxCommand, outboxHelp, parseOutboxArguments } from "./search/outbox_arguments.ts";
import { parseSearchArguments, type SearchCommand, searchHelp } from "./search/search_arguments.ts";
import { parseServeArguments, type ServeCommand } from "./serve_arguments.ts";
import { serveOptionsHelp } from "./serve_options.ts";
import {
  parseUninstallArguments,
  type UninstallCommand,
  uninstallHelp,
} from "./uninstall/uninstall_arguments.ts";

/** A command to run, as opposed to a request for the help or the version. */
export type RunnableCommand =
  | KeysCommand
  | UsersCommand
  | CreditsCommand
  | DescribeCommand
  | ImportCommand
  | McpCommand
  | MigrateCommand
  | SearchCommand
  | UninstallCommand
  | OutboxCommand;

/** A parsed command. `misused` contains the reason why the arguments are invalid. */
export type Command =
  | RunnableCommand
  | ServeCommand
  | { readonly kind: "help" | "version" }
  | { readonly kind: "misused"; readonly message: string };

/** Parses the arguments of the command line. Never throws. */
export function parseArguments(args: readonly string[]): Command {
  const options = args.includes("--") ? args.slice(0, args.indexOf("--")) : args;
  if (options.includes("--help") || options.includes("-h")) return { kind: "help" };
  try {
    return commandOf(args);
  } catch (error) {
    if (!(error instanceof Misuse)) throw error;
    return { kind: "misused", message: error.message };
  }
}

function commandOf(args: readonly string[]): Command {
  const [name, ...rest] = args;
  switch (name) {
    case "keys":
      return parseKeysArguments(rest);
    case "users":
      return parseUsersArguments(rest);
    case "credits":
      return parseCreditsArguments(rest);
    case "types":
    case "openapi":
      return parseDescribeArguments(name, rest);
    case "import":
      return parseImportArguments(rest);
    case "mcp":
      return parseMcpArguments(rest);
    case "search":
      return rest[0] === "outbox"
        ? parseOutboxArguments(rest.slice(1))
        : parseSearchArguments(rest);
    case "migrate":
      return parseMigrateArguments(rest);
    case "uninstall":
      return parseUninstallArguments(rest);
    default:
      return parseServeArguments(args);
  }
}

/** The text that `--help` prints: a description of all command-line arguments. */
export const helpText: string = `resource-api: a complete HTTP API from database tables

Usage:
  deno run -A cli.ts                    serve service.config.ts if it is there, else a demonstration
  deno run -A cli.ts DATABASE           serve every table of a live database, read-only

DATABASE is a SQLite file or a URL: sqlite:PATH, node-sqlite:PATH (the library built into Deno),
postgres://…, pglite:PATH

Options:
${serveOptionsHelp}

${accountHelp}

${creditsHelp}

${describeHelp}

${importHelp}

${mcpHelp}

${searchHelp}
${outboxHelp}

${migrateHelp}

${uninstallHelp}

${additionsHelp}

Exit codes: 0 stopped, 1 failure at run time, 2 wrong usage or configuration`;
