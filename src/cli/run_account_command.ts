import type { ServiceConfig } from "../app/config.ts";
import { openDrizzleOfConfig } from "../engines/drizzle/open_configured_database.ts";
import { openDatabase } from "../engines/open_database.ts";
import {
  type Account,
  type Accounts,
  accountsAfter,
  setAccountDisabled,
} from "../identity/accounts/account.ts";
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
    isOptional: kind === "users" && verb !== "logout",
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
          (opened) => {
            const keys = store.configured === null ? null : new ApiKeys(store.configured, runtime);
            return runUsers(command, { ...opened, keys }, runtime);
          },
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
    case "list": {
      const list = (await keys.list()).map(keyJson);
      const head = ["id", "name", "scopes", "user", "expires", "last used"];
      return printList(list, action.json, () => [head, ...list.map(keyRow)]);
    }
    case "revoke":
      if (await keys.revoke(action.id)) return console.error(`Revoked ${action.id}`);
      throw new Error(`Cannot revoke ${action.id}: there is no such key (see keys list)`);
  }
}

function keyJson({ id, name, scopes, userId, expiresAt, lastUsedAt }: ApiKey) {
  const [expires, lastUsed] = [expiresAt, lastUsedAt].map((at) =>
    at === null ? null : instantOf(at)
  );
  return { id, name, scopes, userId, expiresAt: expires, lastUsedAt: lastUsed };
}

function keyRow(
  { id, name, scopes, userId, expiresAt, lastUsedAt }: ReturnType<typeof keyJson>,
): readonly string[] {
  return [id, name, scopes.join(","), userId ?? "", expiresAt ?? "never", lastUsedAt ?? "never"];
}

async function runUsers(
  { action }: UsersCommand,
  opened: AccountAdministration & { readonly keys: ApiKeys | null },
  runtime: Runtime,
): Promise<void> {
  const { accounts } = opened;
  switch (action.verb) {
    case "add":
      return await addUser(action, opened, runtime);
    case "list": {
      const list: Account[] = [];
      for await (const account of accountsAfter(null, accounts)) list.push(account);
      const head = ["id", "email", "name", "roles", ""];
      return printList(list.map(accountJson), action.json, () => [head, ...list.map(accountRow)]);
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
    case "password":
      return await changePassword(action, opened, runtime);
    case "logout": {
      const { id, email } = await requireAccount(action.email, accounts);
      await opened.endSessions(id);
      return console.error(`Ended the sessions of ${email}`);
    }
    case "delete":
      return await deleteUser(await requireAccount(action.email, accounts), opened);
  }
}

/** Deletes a user, and revokes the user's API keys, which would otherwise stay valid. */
async function deleteUser(
  account: Account,
  { accounts, keys, endSessions }: AccountAdministration & { readonly keys: ApiKeys | null },
): Promise<void> {
  const { id, email } = account;
  const own = keys === null ? [] : (await keys.list()).filter(({ userId }) => userId === id);
  for (const key of own) await keys?.revoke(key.id);
  if (!await accounts.remove(account)) {
    throw new Error(`Cannot delete the account of ${email}: it has changed, try again`);
  }
  await endSessions(id);
  console.error(`Deleted the account ${id} of ${email}; revoked API keys: ${own.length}`);
}

/** Names each member, so that no hash and no future secret of an account is printed. */
function accountJson({ id, email, name, roles, isDisabled }: Account) {
  return { id, email, name, roles, isDisabled };
}

function accountRow({ id, email, name, roles, isDisabled }: Account): readonly string[] {
  return [id, email, name ?? "", roles.join(","), isDisabled ? "disabled" : ""];
}

/** Changes a password. This ends all sessions, because each contains the password's version. */
async function changePassword(
  { email: given, readsPassword }: PasswordAction,
  opened: AccountAdministration,
  runtime: Pick<Runtime, "random">,
): Promise<void> {
  const account = await requireAccount(given, opened.accounts);
  const { email } = account;
  const about = { email, name: null, readsPassword, action: `change the password of ${email}` };
  const { password, passwordHash } = await newPassword(about, opened, runtime);
  if (!await opened.accounts.setPassword(account, passwordHash)) {
    throw new Error(`Cannot ${about.action}: the account has changed, try again`);
  }
  console.error(`Changed the password of ${email}`);
  if (!readsPassword) showPassword(password);
}

async function addUser(
  { email: given, roles, name: givenName, readsPassword }: AddAction,
  opened: AccountAdministration,
  runtime: Pick<Runtime, "random">,
): Promise<void> {
  const email = requireEmail(given);
  const about = { email, name: givenName, readsPassword, action: "add the account" };
  const { name, password, passwordHash } = await newPassword(about, opened, runtime);
  if (await opened.accounts.add({ email, name, roles, passwordHash }) === null) {
    throw new Error(`Cannot add the account: ${email} has one`);
  }
  console.error(`Added ${email}`);
  if (!readsPassword) showPassword(password);
}

type AddAction = Extract<UsersCommand["action"], { readonly verb: "add" }>;
type PasswordAction = Extract<UsersCommand["action"], { readonly verb: "password" }>;

async function newPassword(
  { email, name: givenName, readsPassword, action }: {
    readonly email: string;
    readonly name: string | null;
    readonly readsPassword: boolean;
    readonly action: string;
  },
  { passwords, rules }: Pick<AccountAdministration, "passwords" | "rules">,
  { random }: Pick<Runtime, "random">,
) {
  const given = readsPassword ? await firstLine(action) : null;
  const fields = new AccountFields({ name: givenName, password: given });
  const name = readName(fields);
  if (given !== null) {
    const password = readNewPassword(fields, rules);
    await requireGoodPassword(fields, { password, email, action }, rules);
  }
  fields.requireValid(action);
  const password = given ?? encodeBase64url(random.bytes(15));
  return { name, password, passwordHash: await passwords.hash(password, "") };
}

function showPassword(password: string): void {
  console.error("Its password is shown once only:");
  console.log(password);
}

async function firstLine(action: string): Promise<string> {
  const bytes = await new Response(Deno.stdin.readable).arrayBuffer();
  const [line = ""] = decoded(bytes, action).split(/\r?\n/);
  if (line !== "") return line;
  throw new Error(`Cannot ${action}: the standard input has no password`);
}

function decoded(bytes: ArrayBuffer, action: string): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch (cause) {
    // Another encoding, decoded as UTF-8, would change the password.
    throw new Error(`Cannot ${action}: the standard input is not in UTF-8`, { cause });
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

function printList(
  list: readonly object[],
  json: boolean,
  rows: () => readonly (readonly string[])[],
): void {
  if (json) return console.log(JSON.stringify(list));
  const shown = rows().map((row) => row.map(printable));
  const widths = (shown[0] ?? []).map((_, index) =>
    Math.max(...shown.map((row) => row[index]?.length ?? 0))
  );
  for (const row of shown) {
    console.log(row.map((cell, index) => cell.padEnd(widths[index] ?? 0)).join("  ").trimEnd());
  }
}
