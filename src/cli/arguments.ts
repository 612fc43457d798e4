import {
  type CommandWords,
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
import { parseBackupArguments, parseRestoreArguments } from "./backup/backup_arguments.ts";
import { type CommandName, commandNames, isCommandName } from "./help.ts";
import { nearestName } from "../problem/nearest_name.ts";
import { parseImportArguments } from "./import/import_arguments.ts";
import { parseDevArguments, parseInitArguments } from "./init/init_arguments.ts";
import { parseMigrateArguments } from "./migrate/migrate_arguments.ts";
import { parseCheckArguments, parseServeArguments, type ServeCommand } from "./serve_arguments.ts";

export type KeysCommand = ReturnType<typeof parseKeysArguments>;
export type UsersCommand = ReturnType<typeof parseUsersArguments>;

function parseKeysArguments(args: readonly string[]) {
  const { verb, words } = readVerbWords("keys", args, {
    ...storeOptions,
    ...optionsOf("string", "name", "user", "scopes", "expires"),
    json: { type: "boolean" },
  }, { create: ["name", "user", "scopes", "expires"], list: ["json"], revoke: [] });
  return { kind: "keys" as const, ...readStoreArguments(words), action: keysAction(verb, words) };
}

function parseUsersArguments(args: readonly string[]) {
  const { verb, words } = readVerbWords("users", args, {
    ...storeOptions,
    ...optionsOf("string", "name", "roles"),
    ...optionsOf("boolean", "password-stdin", "json"),
  }, {
    ...{ add: ["name", "roles", "password-stdin"], list: ["json"], role: [], disable: [] },
    ...{ enable: [], password: ["password-stdin"], logout: [], delete: [] },
  });
  return { kind: "users" as const, ...readStoreArguments(words), action: usersAction(verb, words) };
}

function keysAction(
  verb: "create" | "list" | "revoke",
  { positionals: [id, ...more], text, flag }: CommandWords<
    "name" | "user" | "scopes" | "expires" | "json"
  >,
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
      return { verb, json: flag("json") };
    case "revoke":
      if (id === undefined || more.length > 0) {
        throw new Misuse("keys revoke needs the id of one key");
      }
      return { verb, id };
  }
}

function usersAction(
  verb: "add" | "list" | "role" | "disable" | "enable" | "password" | "logout" | "delete",
  { positionals: [email, ...more], text, flag }: CommandWords<
    "name" | "roles" | "password-stdin" | "json"
  >,
) {
  if (verb === "list") {
    if (email !== undefined) throw new Misuse(`users list takes no "${email}"`);
    return { verb, json: flag("json") };
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
  const readsPassword = flag("password-stdin");
  if (verb === "password") return { verb, email, readsPassword };
  if (verb !== "add") return { verb, email };
  return { verb, email, name: text("name"), roles: splitCommaList(text("roles")), readsPassword };
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

export type RunnableCommand = Exclude<
  ReturnType<typeof commandOf>,
  { readonly kind: "serve" | "version" }
>;

export type Command =
  | RunnableCommand
  | ServeCommand
  | { readonly kind: "help"; readonly command: CommandName | null }
  | { readonly kind: "version" }
  | { readonly kind: "misused"; readonly message: string };

/** Parses the arguments of the command line. Never throws. */
export function parseArguments(args: readonly string[]): Command {
  const options = args.includes("--") ? args.slice(0, args.indexOf("--")) : args;
  const [first = ""] = options;
  try {
    if (first === "help") return { kind: "help", command: commandOfHelp(options.slice(1)) };
    if (options.includes("--help") || options.includes("-h")) {
      return { kind: "help", command: isCommandName(first) ? first : null };
    }
    return commandOf(args);
  } catch (error) {
    if (!(error instanceof Misuse)) throw error;
    return { kind: "misused", message: error.message };
  }
}

function commandOfHelp([name, extra]: readonly string[]): CommandName | null {
  if (extra !== undefined) throw new Misuse(`help takes one command: "${extra}" is one too many`);
  if (name === undefined || name.startsWith("-")) return null;
  if (isCommandName(name)) return name;
  throw new Misuse(
    misspelled(name) ?? `There is no command ${name}. The commands are ${commandNames.join(", ")}`,
  );
}

function misspelled(word: string): string | null {
  const near = /^[a-z]+$/.test(word)
    ? nearestName(word, commandNames, Math.floor(word.length / 3))
    : null;
  return near === null
    ? null
    : `There is no command ${word}: did you mean ${near}? For a file of this name, write ./${word}`;
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
    default: {
      const mistake = misspelled(name ?? "");
      if (mistake !== null) throw new Misuse(mistake);
      return parseServeArguments(args);
    }
  }
}
