import {
  type CommandWords,
  Misuse,
  readStoreArguments,
  readVerbWords,
  splitCommaList,
  storeOptions,
} from "./command_options.ts";
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

export type KeysCommand = ReturnType<typeof parseKeysArguments>;
export type UsersCommand = ReturnType<typeof parseUsersArguments>;

const accountHelp = `API keys and accounts, of service.config.ts, or in --kv FILE:
  keys create --name NAME [--scopes A,B] [--user ID] [--expires 90d]
  keys list
  keys revoke ID
  users add EMAIL [--name NAME] [--roles A,B] [--password-stdin]
  users list
  users role EMAIL [A,B]                these roles and no others
  users disable EMAIL                   ends its sessions; users enable EMAIL takes it back`;

/** Parses the arguments of the command `keys`. Throws a {@link Misuse}. */
function parseKeysArguments(args: readonly string[]) {
  const { verb, words } = readVerbWords("keys", args, {
    ...storeOptions,
    name: { type: "string" },
    user: { type: "string" },
    scopes: { type: "string" },
    expires: { type: "string" },
  }, { create: ["name", "user", "scopes", "expires"], list: [], revoke: [] });
  return { kind: "keys" as const, ...readStoreArguments(words), action: keysAction(verb, words) };
}

/** Parses the arguments of the command `users`. Throws a {@link Misuse}. */
function parseUsersArguments(args: readonly string[]) {
  const { verb, words } = readVerbWords("users", args, {
    ...storeOptions,
    name: { type: "string" },
    roles: { type: "string" },
    "password-stdin": { type: "boolean" },
  }, { add: ["name", "roles", "password-stdin"], list: [], role: [], disable: [], enable: [] });
  return { kind: "users" as const, ...readStoreArguments(words), action: usersAction(verb, words) };
}

function keysAction(
  verb: "create" | "list" | "revoke",
  { positionals: [id, ...more], text }: CommandWords<"name" | "user" | "scopes" | "expires">,
) {
  switch (verb) {
    case "create": {
      if (id !== undefined) {
        throw new Misuse(`keys create takes no "${id}": name the key by --name`);
      }
      const name = text("name");
      if (name === null) throw new Misuse("keys create needs --name, which says what it is for");
      const expires = text("expires");
      const expireInMs = expires === null ? null : durationOf(expires);
      return {
        verb,
        name,
        userId: text("user"),
        scopes: splitCommaList(text("scopes")),
        expireInMs,
      };
    }
    case "list":
      if (id !== undefined) throw new Misuse(`keys list takes no "${id}"`);
      return { verb };
    case "revoke":
      if (id === undefined || more.length > 0) {
        throw new Misuse("keys revoke needs the id of one key");
      }
      return { verb, id };
  }
}

function usersAction(
  verb: "add" | "list" | "role" | "disable" | "enable",
  { positionals: [email, ...more], text, flag }: CommandWords<"name" | "roles" | "password-stdin">,
) {
  if (verb === "list") {
    if (email !== undefined) throw new Misuse(`users list takes no "${email}"`);
    return { verb };
  }
  if (email === undefined) throw new Misuse(`users ${verb} needs the e-mail address of an account`);
  if (verb === "role") {
    // An empty string, e.g. of an unset shell variable, would remove all roles by mistake.
    if (more.some((one) => splitCommaList(one).length === 0)) {
      throw new Misuse("users role takes the names of roles; without any it takes all away");
    }
    return { verb, email, roles: more.flatMap(splitCommaList) };
  }
  if (more.length > 0) {
    throw new Misuse(`users ${verb} takes one account: "${more[0]}" is one too many`);
  }
  if (verb !== "add") return { verb, email };
  const roles = splitCommaList(text("roles"));
  return { verb, email, name: text("name"), roles, readsPassword: flag("password-stdin") };
}

const unitMs = { h: 3_600_000, d: 86_400_000, y: 365 * 86_400_000 } as const;

function durationOf(given: string): number {
  const [, count = "", unit = ""] = /^(\d{1,5})([hdy])$/.exec(given) ?? [];
  // A key that expires immediately can only be a mistake.
  if (Number(count) !== 0 && (unit === "h" || unit === "d" || unit === "y")) {
    return Number(count) * unitMs[unit];
  }
  throw new Misuse(`--expires takes 12h, 90d or 1y, not "${given}"`);
}

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
