import { defaultStoreFile } from "./command_options.ts";
import { backupHelp, restoreHelp } from "./backup/backup_arguments.ts";
import { importHelp } from "./import/import_arguments.ts";
import { devHelp, initHelp } from "./init/init_arguments.ts";
import { listenOptionRules } from "../listen/listener.ts";

const { port, host } = listenOptionRules;

const place =
  `DATABASE is a SQLite file or a URL: sqlite:PATH, node-sqlite:PATH (the library built into Deno),
postgres://…, pglite:PATH`;

const additionsHelp = `      --functions FILE   a module with functions in SQL, with a SQLite file
      --extension FILE   an extension of SQLite to load; may be given several times`;

const serveHelp = `Options:
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
      --history DAYS   keep the versions of rows for DAYS days, with the user of each write; with --write
      --changes-schema NAME the schema of Postgres for the log of changes; with --write
      --pooler URL     a pooler of Postgres in transaction mode, for requests; DATABASE is then the
                       direct URL, which hears the changes of other processes
      --replica URL    a standby of Postgres that runs reads in place of DATABASE; may be given several
                       times
      --schema NAMES   the schemas of Postgres to serve, as a,b or '*' for all; tables of all but the
                       first are at schema.table
      --key VIEW=COLUMN the key of a view, a,b for a composite one; may be given several times
      --functions FILE|NAMES a module whose exports are functions in SQL, for triggers of a SQLite file; or the
                       functions of a Postgres to serve, as procedures and columns: a,b, or '*' for all
      --extension FILE an extension of SQLite to load; may be given several times
      --search         /search on every table with strings; with DATABASE
      --ui             the dashboard at /__service/ui, for this machine alone, or with --users for
                       accounts with the role administrator, operator or
                       viewer; edits with --write
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
  -v, --version        print the version`;

const keysHelp = `API keys, in the store of service.config.ts, or in --kv FILE; list with --json:
  keys create --name NAME [--scopes A,B] [--user ID] [--expires 90d]
  keys list [--json]
  keys revoke ID`;

const usersHelp = `Accounts of service.config.ts, or in --kv FILE; list with --json:
  users add EMAIL [--name NAME] [--roles A,B] [--password-stdin]
  users list [--json]
  users role EMAIL [A,B]                these roles and no others
  users password EMAIL [--password-stdin]   a new password, which ends its sessions
  users disable EMAIL                   ends its sessions; users enable EMAIL takes it back
  users logout EMAIL                    ends its sessions
  users delete EMAIL                    deletes the account and its API keys`;

const creditsHelp = `Credits, in the store of service.config.ts, or in --kv FILE; --json:
  credits balance ACCOUNT
  credits history ACCOUNT [--count 20]  the newest entries first
  credits grant ACCOUNT AMOUNT [--reason TEXT] [--key KEY]
  credits consume ACCOUNT AMOUNT [--reason TEXT] [--key KEY] [--allow-negative]
  credits reverse GRANT_KEY [--amount N] [--reason TEXT] [--key KEY]
  credits audit [ACCOUNT]               adds all entries up again; 1 where they do not fit`;

const typesHelp =
  `Types of service.config.ts, of another configuration FILE, or of the service at a URL:
  types [FILE | URL] [--token TOKEN]    TypeScript declarations, on the standard output
  types [FILE | URL] --check API.D.TS   1 where this file differs from them`;

const openapiHelp =
  `The OpenAPI document of service.config.ts, of another FILE, or of the service at a URL:
  openapi [FILE | URL] [--yaml] [--token TOKEN]
  openapi [FILE | URL] --check OPENAPI.JSON   1 where this file differs from it`;

const mcpHelp = `MCP over the standard streams, for the configuration of a client:
  mcp DATABASE [--write] [--schema NAMES]   tools over every table, read-only unless --write
${additionsHelp}`;

const searchHelp = `Search, of service.config.ts, of another FILE, or of a database:
  search reindex [--config FILE]              index every row again, with progress
  search reindex DATABASE [--schema NAMES]    the same, for a database
  search outbox [stats]     what waits in the store of service.config.ts, or
                            in --kv FILE; --json
  search outbox dead        what failed too often, and why; search outbox
                            replay tries it again
${additionsHelp}`;

const migrateHelp = `Changing tables:
  migrate [DATABASE]     make a database as the tables of service.config.ts are declared, or those
                         that --tables FILE exports; the statements are shown first
      --dry-run          only show them
      --json             print JSON, a value a line, and do not ask
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
${additionsHelp}`;

const checkHelp = `Before a start:
  check [DATABASE | --config FILE] …    with the arguments of a start: start without listening, and
                         say what is wrong, a line each; 1 if there are findings, 2 if the service
                         cannot start
      --production       also look at the checklist for production in SECURITY.md
      --json             print the findings as JSON`;

const uninstallHelp = `Leaving a database as it was:
  uninstall DATABASE     take away the tables, triggers and functions that --write, --triggers and
                         --search have added`;

const commands = {
  init: ["write a new project", initHelp],
  dev: ["serve a project and its page, and start again at each save", devHelp],
  check: ["say what is wrong with a configuration or a database before a start", checkHelp],
  keys: ["create, list and revoke API keys", keysHelp],
  users: ["add, list, change and delete accounts", usersHelp],
  credits: ["show and change credits", creditsHelp],
  types: ["write or check the TypeScript types of a service", typesHelp],
  openapi: ["write or check the OpenAPI document of a service", openapiHelp],
  import: ["create rows from a CSV or NDJSON file", `${importHelp}\n${additionsHelp}`],
  migrate: ["change a database to match the declared tables", migrateHelp],
  search: ["index all rows again, and look at the outbox of the index", searchHelp],
  backup: ["copy a SQLite file and the key-value store", backupHelp],
  restore: ["replace both files by a backup", restoreHelp],
  mcp: ["serve MCP to the program that starts the command", mcpHelp],
  uninstall: ["remove what --write, --triggers and --search have added", uninstallHelp],
} as const;

export type CommandName = keyof typeof commands;

export function isCommandName(name: string): name is CommandName {
  return Object.hasOwn(commands, name);
}

export const commandNames: readonly string[] = Object.keys(commands);

/** Returns the output of `--help` or `help COMMAND`, which names the command `program`. */
export function helpOf(program: string, command: CommandName | null): string {
  if (command !== null) {
    return `${commands[command][1]}\n\nWrite ${program} before a command. ${exits}`;
  }
  const list = Object.entries(commands).map(([name, [summary]]) =>
    `  ${name.padEnd(12)}${summary}`
  );
  return `resource-api: a complete HTTP API from database tables

Usage:
  ${program.padEnd(37)} serve service.config.ts if it is there, else a demonstration
  ${`${program} DATABASE`.padEnd(37)} serve every table of a live database, read-only
  ${`${program} help COMMAND`.padEnd(37)} explain one of the commands

Commands:
${list.join("\n")}

${place}

${serveHelp}

${exits}`;
}

const exits = "Exit codes: 0 stopped, 1 failure at run time, 2 wrong arguments or configuration";

export const helpText: string = [
  helpOf("", null),
  ...Object.values(commands).map(([, page]) => page),
].join("\n\n");
