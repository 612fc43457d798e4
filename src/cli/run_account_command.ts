import type { ServiceConfig } from "../app/config.ts";
import { openDrizzleOfConfig } from "../engines/drizzle/open_configured_database.ts";
import { openDatabase } from "../engines/open_database.ts";
import { type Account, type Accounts, setAccountDisabled } from "../identity/accounts/account.ts";
import { normalizeEmail, normalizeStoredEmail } from "../identity/signups/normalize_email.ts";
import { AccountFields, readName } from "../identity/accounts/account_request.ts";
import {
  type AccountAdministration,
  passwordAuth,
  type PasswordAuthDefinition,
} from "../identity/accounts/password_auth.ts";
import { readNewPassword, requireGoodPassword } from "../identity/accounts/password_rules.ts";
import { type ApiKey, ApiKeys } from "../identity/keys/api_keys.ts";
import type { AppStore } from "../kv/open_key_value_store.ts";
import { encodeBase64url } from "../protocol/byte_text.ts";
import { consoleObserver } from "../runtime/console_observer.ts";
import type { Runtime } from "../runtime/runtime.ts";
import { systemRuntime } from "../runtime/system_runtime.ts";
import { instantOf } from "../schema/instant.ts";
import type { KeysCommand, UsersCommand } from "./arguments.ts";
import { runOverStore } from "./command_store.ts";
import { printable } from "./printable.ts";

export async function runAccountCommand(command: KeysCommand | UsersCommand): Promise<number> {
  const runtime = systemRuntime(consoleObserver());
  const { kind, action: { verb } } = command;
  const use = {
    action: "change accounts or API keys",
    // Only these two commands make sense with a new, empty store.
    creates: verb === "add" || verb === "create",
    // Accounts in a table of the database need no key-value store.
    isOptional: kind === "users",
  };
  return await runOverStore(command, use, {
    runtime,
    async work(store, config) {
      if (command.kind === "keys") {
        await runKeys(command, new ApiKeys(store.need("API keys"), runtime), runtime);
      } else {
        await withAccounts(
          config,
          { store, runtime },
          (opened) => runUsers(command, opened, runtime),
        );
      }
      return 0;
    },
  });
}

async function withAccounts(
  config: ServiceConfig | null,
  { store, runtime }: { readonly store: AppStore; readonly runtime: Runtime },
  work: (opened: AccountAdministration) => Promise<void>,
): Promise<void> {
  const definition = config === null
    ? passwordAuth({ users: "kv" })
    : config.auth?.use?.find(({ name }) => name === "passwordAuth");
  if (definition === undefined || !isAdministered(definition)) {
    throw new Error("Cannot change accounts: the configuration has no passwordAuth in auth.use");
  }
  const db = config === null
    ? await openDatabase("sqlite::memory:")
    : (await openDrizzleOfConfig(config, runtime)).db;
  try {
    await work(await definition.openAdministration({ store, db, runtime }));
  } finally {
    await db.close();
  }
}

function isAdministered(definition: object): definition is PasswordAuthDefinition {
  return "openAdministration" in definition;
}

async function runKeys(
  { action }: KeysCommand,
  keys: ApiKeys,
  { clock }: Pick<Runtime, "clock">,
): Promise<void> {
  switch (action.verb) {
    case "create": {
      const { name, userId, scopes, expireInMs } = action;
      const expiresAt = expireInMs === null ? null : clock.now() + expireInMs;
      const { text } = await keys.create({ name, userId, scopes, expiresAt });
      // Only the key goes to the standard output, so that a pipe can pass it on.
      console.log(text);
      console.error("This key is shown once only. Send it in the header X-API-Key.");
      return;
    }
    case "list":
      return printTable(
        ["id", "name", "scopes", "user", "expires", "last used"],
        await keyRows(keys),
      );
    case "revoke":
      if (await keys.revoke(action.id)) return console.error(`Revoked ${action.id}`);
      throw new Error(`Cannot revoke ${action.id}: there is no such key (see keys list)`);
  }
}

async function keyRows(keys: ApiKeys): Promise<readonly (readonly string[])[]> {
  const moment = (at: number | null, none: string) => at === null ? none : instantOf(at);
  return (await keys.list()).map(({ id, name, scopes, userId, expiresAt, lastUsedAt }: ApiKey) => [
    ...[id, name, scopes.join(","), userId ?? ""],
    ...[moment(expiresAt, "never"), moment(lastUsedAt, "never")],
  ]);
}

async function runUsers(
  { action }: UsersCommand,
  opened: AccountAdministration,
  runtime: Runtime,
): Promise<void> {
  const { accounts } = opened;
  switch (action.verb) {
    case "add":
      return await addUser(action, opened, runtime);
    case "list": {
      const rows: string[][] = [];
      for await (const { id, email, name, roles, isDisabled } of allAccounts(accounts)) {
        rows.push([id, email, name ?? "", roles.join(","), isDisabled ? "disabled" : ""]);
      }
      return printTable(["id", "email", "name", "roles", ""], rows);
    }
    case "role": {
      const { id, email } = await requireAccount(action.email, accounts);
      await accounts.change(id, { roles: action.roles });
      return console.error(`${email} has ${action.roles.join(", ") || "no role"} now`);
    }
    case "disable":
    case "enable": {
      const account = await requireAccount(action.email, accounts);
      await setAccountDisabled(account, action.verb === "disable", opened);
      return console.error(`${account.email} is ${action.verb}d`);
    }
  }
}

async function addUser(
  action: Extract<UsersCommand["action"], { readonly verb: "add" }>,
  { accounts, passwords, rules }: AccountAdministration,
  { random }: Pick<Runtime, "random">,
): Promise<void> {
  const email = requireEmail(action.email);
  const { roles, readsPassword } = action;
  const given = readsPassword ? await firstLine() : null;
  const fields = new AccountFields({ name: action.name, password: given });
  const name = readName(fields);
  if (given !== null) {
    const password = readNewPassword(fields, rules);
    await requireGoodPassword(fields, { password, email, action: "add the account" }, rules);
  }
  fields.requireValid("add the account");
  const password = given ?? encodeBase64url(random.bytes(15));
  const passwordHash = await passwords.hash(password, "");
  if (await accounts.add({ email, name, roles, passwordHash }) === null) {
    throw new Error(`Cannot add the account: ${email} has one`);
  }
  console.error(`Added ${email}`);
  if (readsPassword) return;
  console.error("Its password is shown once only:");
  console.log(password);
}

async function firstLine(): Promise<string> {
  const bytes = await new Response(Deno.stdin.readable).arrayBuffer();
  const [line = ""] = decoded(bytes).split(/\r?\n/);
  if (line !== "") return line;
  throw new Error("Cannot add the account: the standard input has no password");
}

function decoded(bytes: ArrayBuffer): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch (cause) {
    // Another encoding, decoded as UTF-8, would change the password.
    throw new Error("Cannot add the account: the standard input is not in UTF-8", { cause });
  }
}

async function requireAccount(given: string, accounts: Accounts): Promise<Account> {
  const email = requireEmail(given, normalizeStoredEmail);
  const account = await accounts.findByEmail(email);
  if (account !== null) return account;
  throw new Error(`There is no account of ${email} (see users list)`);
}

function requireEmail(given: string, spelling = normalizeEmail): string {
  const email = spelling(given);
  if (email !== null) return email;
  throw new Error(`"${given}" is no e-mail address`);
}

async function* allAccounts(accounts: Accounts): AsyncIterable<Account> {
  for (let after: string | null = null;;) {
    const page: readonly Account[] = await accounts.list(after, pageSize);
    yield* page;
    after = page.at(-1)?.id ?? null;
    if (page.length < pageSize || after === null) return;
  }
}

const pageSize = 500;

function printTable(head: readonly string[], rows: readonly (readonly string[])[]): void {
  const shown = [head, ...rows].map((row) => row.map(printable));
  const widths = head.map((_, index) => Math.max(...shown.map((row) => row[index]?.length ?? 0)));
  for (const row of shown) {
    console.log(row.map((cell, index) => cell.padEnd(widths[index] ?? 0)).join("  ").trimEnd());
  }
}
