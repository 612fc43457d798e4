import {
  type AccountCommand,
  accountHelp,
  isAccountCommand,
  parseAccountArguments,
} from "./account_arguments.ts";
import {
  type CreditsCommand,
  creditsHelp,
  isCreditsCommand,
  parseCreditsArguments,
} from "./credits/credits_arguments.ts";
import {
  type DescribeCommand,
  describeHelp,
  isDescribeCommand,
  parseDescribeArguments,
} from "./describe/describe_arguments.ts";
import {
  isOutboxCommand,
  type OutboxCommand,
  outboxHelp,
  parseOutboxArguments,
} from "./search/outbox_arguments.ts";
import {
  isSearchCommand,
  parseSearchArguments,
  type SearchCommand,
  searchHelp,
} from "./search/search_arguments.ts";
import {
  type MigrateCommand,
  migrateHelp,
  parseMigrateArguments,
} from "./migrate/migrate_arguments.ts";
import { type ImportCommand, importHelp, parseImportArguments } from "./import/import_arguments.ts";
import { type McpCommand, mcpHelp, parseMcpArguments } from "./mcp/mcp_arguments.ts";
import {
  parseUninstallArguments,
  type UninstallCommand,
  uninstallHelp,
} from "./uninstall/uninstall_arguments.ts";
import { additionsHelp } from "./database/additions.ts";
import { parseServeArguments, type ServeArguments } from "./serve_arguments.ts";
import { serveOptionsHelp } from "./serve_options.ts";

/** A command, as parsed from the arguments of the command line. */
export type Command =
  | ServeArguments
  | AccountCommand
  | CreditsCommand
  | DescribeCommand
  | ImportCommand
  | McpCommand
  | MigrateCommand
  | SearchCommand
  | UninstallCommand
  | OutboxCommand;

/** Parses the arguments of the command line. Never throws. */
export function parseArguments(args: readonly string[]): Command {
  if (isAccountCommand(args)) return parseAccountArguments(args);
  if (isCreditsCommand(args)) return parseCreditsArguments(args);
  if (isDescribeCommand(args)) return parseDescribeArguments(args);
  if (args[0] === "import") return parseImportArguments(args);
  if (args[0] === "mcp") return parseMcpArguments(args);
  if (isOutboxCommand(args)) return parseOutboxArguments(args);
  if (isSearchCommand(args)) return parseSearchArguments(args);
  if (args[0] === "migrate") return parseMigrateArguments(args);
  if (args[0] === "uninstall") return parseUninstallArguments(args);
  return parseServeArguments(args);
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
