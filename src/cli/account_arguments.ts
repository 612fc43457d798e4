import {
  type CommandWords,
  Misuse,
  readStoreArguments,
  readVerbWords,
  splitCommaList,
  storeOptions,
} from "./command_options.ts";

export type KeysCommand = ReturnType<typeof parseKeysArguments>;
export type UsersCommand = ReturnType<typeof parseUsersArguments>;

export const accountHelp = `API keys and accounts, of service.config.ts, or in --kv FILE:
  keys create --name NAME [--scopes A,B] [--user ID] [--expires 90d]
  keys list
  keys revoke ID
  users add EMAIL [--name NAME] [--roles A,B] [--password-stdin]
  users list
  users role EMAIL [A,B]                these roles and no others
  users disable EMAIL                   ends its sessions; users enable EMAIL takes it back`;

/** Parses the arguments of the command `keys`. Throws a {@link Misuse}. */
export function parseKeysArguments(args: readonly string[]) {
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
export function parseUsersArguments(args: readonly string[]) {
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
