import { parseArgs } from "node:util";
import { nearestName } from "../problem/nearest_name.ts";

/** The arguments of the commands for API keys and accounts. */
export type AccountCommand = KeysCommand | UsersCommand;

interface StoreArguments {
  /** The file or URL of the key-value store, or null if the option `--kv` is missing. */
  readonly kv: string | null;
  /** The path of a configuration file, or null if the option `--config` is missing. */
  readonly config: string | null;
}

/** The arguments of a command for API keys. */
export interface KeysCommand extends StoreArguments {
  readonly kind: "keys";
  readonly action:
    | {
      readonly verb: "create";
      readonly name: string;
      readonly userId: string | null;
      readonly scopes: readonly string[];
      /** The lifetime of the API key in milliseconds, or null if the key never expires. */
      readonly expireInMs: number | null;
    }
    | { readonly verb: "list" }
    | { readonly verb: "revoke"; readonly id: string };
}

/** The arguments of a command for accounts. */
export interface UsersCommand extends StoreArguments {
  readonly kind: "users";
  readonly action:
    | {
      readonly verb: "add";
      readonly email: string;
      readonly name: string | null;
      readonly roles: readonly string[];
      /** True if the command reads the password from the first line of the standard input. */
      readonly readsPassword: boolean;
    }
    | { readonly verb: "list" }
    | { readonly verb: "role"; readonly email: string; readonly roles: readonly string[] }
    | { readonly verb: "disable" | "enable"; readonly email: string };
}

/** The default file for the key-value store of accounts and API keys. */
export const defaultStoreFile = "service.kv";

/** The section of `--help` about API keys and accounts. */
export const accountHelp = `API keys and accounts, of service.config.ts, or in --kv FILE:
  keys create --name NAME [--scopes A,B] [--user ID] [--expires 90d]
  keys list
  keys revoke ID
  users add EMAIL [--name NAME] [--roles A,B] [--password-stdin]
  users list
  users role EMAIL [A,B]                these roles and no others
  users disable EMAIL                   ends its sessions; users enable EMAIL takes it back`;

/** Returns true if the command line starts with a command for API keys or accounts. */
export function isAccountCommand([first]: readonly string[]): boolean {
  return first === "keys" || first === "users";
}

/** Parses the arguments of a command for API keys or accounts. Never throws. */
export function parseAccountArguments(
  [kind, ...args]: readonly string[],
): AccountCommand | { readonly kind: "misused"; readonly message: string } | {
  readonly kind: "help";
} {
  const { values, positionals, tokens } = parseArgs({
    args,
    options,
    allowPositionals: true,
    strict: false,
    tokens: true,
  });
  if (values.help === true) return { kind: "help" };
  const [verb = "", ...rest] = positionals;
  const allowed: readonly string[] = allowedOptions[`${kind} ${verb}`] ?? [];
  for (const token of tokens) {
    const fault = token.kind === "option" ? faultOf(token, allowed, `${kind} ${verb}`) : null;
    if (fault !== null && Object.hasOwn(allowedOptions, `${kind} ${verb}`)) return misused(fault);
  }
  const store = { kv: textOf(values.kv), config: textOf(values.config) };
  const action = kind === "keys" ? keysAction(verb, rest, values) : usersAction(verb, rest, values);
  if (typeof action === "string") return misused(action);
  // The cast is safe: the parser of each kind returns only matching actions.
  return { kind, ...store, action } as AccountCommand;
}

const text = { type: "string" } as const;
const flag = { type: "boolean" } as const;
const options = {
  kv: text,
  config: { ...text, short: "c" },
  name: text,
  user: text,
  scopes: text,
  roles: text,
  expires: text,
  "password-stdin": flag,
  help: { ...flag, short: "h" },
} as const;

/** The options of each command besides --kv and --config. */
const allowedOptions: Readonly<Record<string, readonly string[]>> = {
  "keys create": ["name", "user", "scopes", "expires"],
  "keys list": [],
  "keys revoke": [],
  "users add": ["name", "roles", "password-stdin"],
  "users list": [],
  "users role": [],
  "users disable": [],
  "users enable": [],
};

interface Token {
  readonly name: string;
  readonly rawName: string;
  readonly value?: string | undefined;
}

function faultOf(
  { name, rawName, value }: Token,
  allowed: readonly string[],
  command: string,
): string | null {
  const known = [...allowed, "kv", "config", "help"];
  if (!known.includes(name)) {
    const near = nearestName(name, known);
    return `${command} has no option ${rawName}${near === null ? "" : `: did you mean --${near}?`}`;
  }
  // The cast is safe: unknown options were rejected above.
  const { type } = options[name as keyof typeof options];
  if (type === "boolean") return value === undefined ? null : `${rawName} takes no value`;
  return value === undefined || value === "" || value.startsWith("-")
    ? `The option ${rawName} needs a value`
    : null;
}

type Values = Readonly<Record<string, string | boolean | undefined>>;

function keysAction(
  verb: string,
  rest: readonly string[],
  { name, user, scopes, expires }: Values,
): KeysCommand["action"] | string {
  const [id, ...more] = rest;
  switch (verb) {
    case "create": {
      if (id !== undefined) return `keys create takes no "${id}": name the key by --name`;
      if (typeof name !== "string") return "keys create needs --name, which says what it is for";
      const expireInMs = typeof expires === "string" ? durationOf(expires) : null;
      if (Number.isNaN(expireInMs)) return `--expires takes 12h, 90d or 1y, not "${expires}"`;
      return { verb, name, userId: textOf(user), scopes: listOf(scopes), expireInMs };
    }
    case "list":
      return id === undefined ? { verb } : `keys list takes no "${id}"`;
    case "revoke":
      if (id === undefined || more.length > 0) return "keys revoke needs the id of one key";
      return { verb, id };
    default:
      return `keys takes create, list or revoke${verb === "" ? "" : `, not "${verb}"`}`;
  }
}

function usersAction(
  verb: string,
  [email, ...more]: readonly string[],
  { name, roles, ...values }: Values,
): UsersCommand["action"] | string {
  if (verb === "list") return email === undefined ? { verb } : `users list takes no "${email}"`;
  const verbs = ["add", "role", "disable", "enable"];
  if (!verbs.includes(verb)) {
    const found = verb === "" ? "" : `, not "${verb}"`;
    return `users takes add, list, role, disable or enable${found}`;
  }
  if (email === undefined) return `users ${verb} needs the e-mail address of an account`;
  if (verb === "role") {
    // An empty string, for example from an unset shell variable, would remove all roles.
    if (more.some((one) => listOf(one).length === 0)) {
      return "users role takes the names of roles; without any it takes all away";
    }
    return { verb, email, roles: more.flatMap(listOf) };
  }
  if (more.length > 0) return `users ${verb} takes one account: "${more[0]}" is one too many`;
  if (verb === "disable" || verb === "enable") return { verb, email };
  const readsPassword = values["password-stdin"] === true;
  return { verb: "add", email, name: textOf(name), roles: listOf(roles), readsPassword };
}

function textOf(value: unknown): string | null {
  return typeof value === "string" ? value : null;
}

function listOf(value: unknown): readonly string[] {
  return typeof value === "string"
    ? value.split(",").map((one) => one.trim()).filter((one) => one !== "")
    : [];
}

const unitMs = { h: 3_600_000, d: 86_400_000, y: 365 * 86_400_000 } as const;

function durationOf(given: string): number {
  const [, count = "", unit = ""] = /^(\d{1,5})([hdy])$/.exec(given) ?? [];
  // An API key that expires immediately is surely a mistake of the user.
  if (Number(count) === 0) return NaN;
  return unit === "h" || unit === "d" || unit === "y" ? Number(count) * unitMs[unit] : NaN;
}

function misused(message: string): { readonly kind: "misused"; readonly message: string } {
  return { kind: "misused", message };
}
