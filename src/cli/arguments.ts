import {
  type CommandWords,
  defaultStoreFile,
  Misuse,
  optionsOf,
  readStoreArguments,
  readVerbWords,
  splitCommaList,
  storeOptions,
} from "./command_options.ts";
import {
  parseCreditsArguments,
  parseDescribeArguments,
  parseMcpArguments,
  parseOutboxArguments,
  parseSearchArguments,
  parseUninstallArguments,
} from "./command_arguments.ts";
import {
  backupHelp,
  parseBackupArguments,
  parseRestoreArguments,
} from "./backup/backup_arguments.ts";
import { importHelp, parseImportArguments } from "./import/import_arguments.ts";
import { initHelp, parseDevArguments, parseInitArguments } from "./init/init_arguments.ts";
import { parseMigrateArguments } from "./migrate/migrate_arguments.ts";
import { parseCheckArguments, parseServeArguments, type ServeCommand } from "./serve_arguments.ts";
import { listenOptionRules } from "../listen/listener.ts";

export type KeysCommand = ReturnType<typeof parseKeysArguments>;
export type UsersCommand = ReturnType<typeof parseUsersArguments>;

function parseKeysArguments(args: readonly string[]) {
  const { verb, words } = readVerbWords("keys", args, {
    ...storeOptions,
    ...optionsOf("string", "name", "user", "scopes", "expires"),
  }, { create: ["name", "user", "scopes", "expires"], list: [], revoke: [] });
  return { kind: "keys" as const, ...readStoreArguments(words), action: keysAction(verb, words) };
}

function parseUsersArguments(args: readonly string[]) {
  const { verb, words } = readVerbWords("users", args, {
    ...storeOptions,
    ...optionsOf("string", "name", "roles"),
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

/** Any command except `serve` and `version`. */
export type RunnableCommand = Exclude<
  ReturnType<typeof commandOf>,
  { readonly kind: "serve" | "version" }
>;

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

function commandOf(args: readonly string[]) {
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
    case "check":
      return parseCheckArguments(rest);
    case "migrate":
      return parseMigrateArguments(rest);
    case "backup":
      return parseBackupArguments(rest);
    case "restore":
      return parseRestoreArguments(rest);
    case "uninstall":
      return parseUninstallArguments(rest);
    case "dev":
      return parseDevArguments(rest);
    case "init":
      return parseInitArguments(rest);
    default:
      return parseServeArguments(args);
  }
}

const { port, host } = listenOptionRules;

export function helpOf(program: string): string {
  return `resource-api: a complete HTTP API from database tables

Usage:
  ${program.padEnd(37)} serve service.config.ts if it is there, else a demonstration
  ${`${program} DATABASE`.padEnd(37)} serve every table of a live database, read-only

${helpText}`;
}

export const helpText: string =
  `DATABASE is a SQLite file or a URL: sqlite:PATH, node-sqlite:PATH (the library built into Deno),
postgres://…, pglite:PATH

Options:
  -p, --port PORT      the port to listen on; ${port.rules.defaultValue} unless set, 0 takes a free one
      --host ADDRESS   the address to listen on; ${host.rules.defaultValue} unless set. On another address
                       than the loopback reading needs the printed token
      --public         reading needs no token, whatever the address and the name
      --trust-proxy N  the number of your proxies in front of the service, for the addresses of clients
                       in X-Forwarded-For; with DATABASE
      --mounted-at PATH the path that a proxy removes from requests, like /v1; with DATABASE
      --write          open DATABASE for writing; writes need the printed token
      --triggers       live streams show what other programs write as well: with --write, which alone
                       records the service's own writes, triggers on every table record all
      --changes-schema NAME the schema of Postgres for the log of changes; with --write
      --pooler URL     a pooler of Postgres in transaction mode, for requests; DATABASE is then the
                       direct URL, which hears the changes of other processes
      --schema NAMES   the schemas of Postgres to serve, as a,b or '*' for all; tables of all but the
                       first are at schema.table
      --key VIEW=COLUMN the key of a view, a,b for a composite one; may be given several times
      --functions FILE|NAMES a module whose exports are functions in SQL, for triggers of a SQLite file; or the
                       functions of a Postgres to serve, as procedures and columns: a,b, or '*' for all
      --extension FILE an extension of SQLite to load; may be given several times
      --search         /search on every table with strings; with DATABASE
      --ui             the dashboard at /__service/ui, for this machine alone; edits with --write
      --web FOLDER     the built page in FOLDER, at each path that no route has
      --watch-schema   look at the tables every few seconds, and serve them as they are then; without
                       it after a SIGHUP and after a statement that fails. With DATABASE
      --act-as supabase the policies of Postgres decide: requests have the role and the claims of their
                       token, which SUPABASE_URL or SUPABASE_JWT_SECRET verifies. With DATABASE
      --users          accounts and API keys: those with the role writer may write; with DATABASE
      --kv FILE|URL    where accounts and API keys are kept: a file, or a postgres:// URL;
                       ${defaultStoreFile} unless set
  -c, --config FILE    serve the configuration that FILE exports as default
  -w, --workers N      serve by N processes on the port, on Linux; one that ends is replaced, and
                       a SIGHUP replaces all, one after the other, without a failed request
  -h, --help           print this
  -v, --version        print the version

${initHelp}

API keys and accounts, of service.config.ts, or in --kv FILE:
  keys create --name NAME [--scopes A,B] [--user ID] [--expires 90d]
  keys list
  keys revoke ID
  users add EMAIL [--name NAME] [--roles A,B] [--password-stdin]
  users list
  users role EMAIL [A,B]                these roles and no others
  users disable EMAIL                   ends its sessions; users enable EMAIL takes it back

Credits, in the store of service.config.ts, or in --kv FILE; --json:
  credits balance ACCOUNT
  credits history ACCOUNT [--count 20]  the newest entries first
  credits grant ACCOUNT AMOUNT [--reason TEXT] [--key KEY]
  credits consume ACCOUNT AMOUNT [--reason TEXT] [--key KEY] [--allow-negative]
  credits reverse GRANT_KEY [--amount N] [--reason TEXT] [--key KEY]
  credits audit [ACCOUNT]               adds all entries up again; 1 where they do not fit

Descriptions of service.config.ts, of another configuration FILE, or of the service at a URL:
  types [FILE | URL] [--token TOKEN]    TypeScript declarations, on the standard output
  types [FILE | URL] --check API.D.TS   1 where this file differs from them
  openapi [FILE | URL] [--yaml]         the OpenAPI document, likewise with --token and --check

${importHelp}

MCP over the standard streams, for the configuration of a client:
  mcp DATABASE [--write] [--schema NAMES]   tools over every table, read-only unless --write

Search, of service.config.ts, of another FILE, or of a database:
  search reindex [--config FILE]              index every row again, with progress
  search reindex DATABASE [--schema NAMES]    the same, for a database
  search outbox [stats]     what waits in the store of service.config.ts, or
                            in --kv FILE; --json
  search outbox dead        what failed too often, and why; search outbox
                            replay tries it again

Changing tables:
  migrate [DATABASE]     make a database as the tables of service.config.ts are declared, or those
                         that --tables FILE exports; the statements are shown first
      --dry-run          only show them
      --yes              do not ask
      --allow-drop NAME  what may be lost: table.column, table.index or table; may be repeated
      --keep NAME        table.column is declared no more and stays: it is not renamed
      --migrations DIR   run the SQL files of a folder instead, 0001_name.sql and so on, each once
      --baseline         note these files as applied, and run none
      --resume           continue a file with "-- no transaction" that has stopped
      --down N           undo the last N files by their files 0001_name.down.sql
      --write NAME       write the statements to a new file of --migrations DIR, and run none
      --check            exit with 1 if the tables differ; with --migrations DIR, run the files in
                         DATABASE first, which must be empty

${backupHelp}

Before a start:
  check [DATABASE | --config FILE] …    with the arguments of a start: start without listening, and
                         say what is wrong, a line each; 1 if there are findings, 2 if the service
                         cannot start
      --production       also look at the checklist for production in SECURITY.md
      --json             print the findings as JSON

Leaving a database as it was:
  uninstall DATABASE     take away the tables, triggers and functions that --write, --triggers and
                         --search have added

The commands import, mcp, search reindex and migrate take --functions FILE and --extension FILE with
a SQLite file.

Exit codes: 0 stopped, 1 failure at run time, 2 wrong usage or configuration`;
