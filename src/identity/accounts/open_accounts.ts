import { engineOf } from "../../db/engine/engine.ts";
import { DatabaseError, reasonOf } from "../../db/database_error.ts";
import { columnInfoOf, isTableInfo, isTableLike, tableInfoOf } from "../../schema/table_like.ts";
import { instantOf } from "../../schema/instant.ts";
import type { ColumnInfo, TableInfo } from "../../schema/table_info.ts";
import type { AuthenticatorDependencies } from "../authenticator_dependencies.ts";
import { type Account, type AccountChange, type Accounts, hasMemberTypes } from "./account.ts";
import type {
  PasswordAuthOptions,
  UserColumn,
  UserColumnOptions,
  UsersOptions,
} from "./password_auth_options.ts";
import {
  type AccountColumns,
  createTableAccounts,
  newRolesError,
  unfilledColumn,
} from "./table_accounts.ts";
import { usersTable } from "./users_table.ts";
import type { Database } from "../../db/database.ts";
import { emailSpellings } from "../signups/normalize_email.ts";
import type { KeyValue, KeyValueKey, KeyValueMutation } from "../../kv/key_value.ts";
import { type Runtime, uuidV7 } from "../../runtime/runtime.ts";
import { hashOfToken } from "../opaque_token.ts";

export async function openAccounts(
  users: PasswordAuthOptions["users"],
  signup: { readonly roles: readonly string[] } | false,
  { store, db, runtime }: Pick<AuthenticatorDependencies, "store" | "db" | "runtime">,
): Promise<Accounts> {
  if (users === "kv") return withEmailSpellings(createKvAccounts(store.need("accounts"), runtime));
  if (users === undefined) await db.createTables([usersTable]);
  const given: UsersOptions = users === undefined
    ? { table: usersTable }
    : isUsersOptions(users)
    ? users
    : { table: users };
  const table = isTableInfo(given.table) ? given.table : tableInfoOf(given.table);
  const columns = columnsOf(table, given.columns ?? {});
  const missing = signup === false ? null : unfilledColumn({ table, columns });
  if (missing !== null) {
    throw new Error(
      `${subject}: a signup cannot fill "${table.name}.${missing.name}": give it a default, or ` +
        "set signup: false",
    );
  }
  if (signup !== false && columns.roles !== null) {
    const mistake = newRolesError(columns.roles, signup.roles);
    if (mistake !== null) {
      throw new Error(
        `${subject}: "${table.name}.${columns.roles.name}" ${mistake} (signup.roles)`,
      );
    }
  }
  const own = given.db ?? db;
  await requireColumns(own, table, users === undefined);
  const conflicting = await engineOf(own.driver).catalog.conflictTables(own.driver, [table]);
  const isConflicting = conflicting.length > 0;
  return withEmailSpellings(
    createTableAccounts({ db: own, table, columns, isConflicting }, runtime),
  );
}

const subject = "Cannot start: passwordAuth.users";

function isUsersOptions(users: object): users is UsersOptions {
  // `isTableLike` is needed because a table can have a column with the name `table`.
  return "table" in users && !isTableLike(users);
}

function columnsOf(table: TableInfo, given: UserColumnOptions): AccountColumns {
  const [id, more] = table.primaryKey;
  if (id === undefined || more !== undefined) {
    throw new Error(`${subject}: "${table.name}" needs a primary key of one column`);
  }
  const optional = (name: keyof UserColumnOptions, ...kinds: readonly string[]) => {
    const column = columnAt(table, given[name] ?? name, given[name] !== undefined);
    if (column === null || kinds.includes(column.kind)) return column;
    const wanted = kinds.join(" or ");
    throw new Error(
      `${subject}: "${table.name}.${column.name}" is of kind ${column.kind}, and ${name} needs ${wanted}`,
    );
  };
  const required = (name: keyof UserColumnOptions): ColumnInfo => {
    const column = optional(name, "text");
    if (column !== null) return column;
    throw new Error(
      `${subject}: "${table.name}" has no column "${name}": name it in users.columns.${name}`,
    );
  };
  return {
    id,
    email: required("email"),
    passwordHash: required("passwordHash"),
    name: optional("name", "text"),
    roles: optional("roles", "json", "text"),
    disabled: optional("disabled", "boolean"),
    createdAt: optional("createdAt", "timestamp"),
  };
}

function columnAt(table: TableInfo, reference: UserColumn, isNamed: boolean): ColumnInfo | null {
  const column = typeof reference === "string"
    ? table.byName.get(reference)
    : columnInfoOf(reference);
  if (column !== undefined && table.columns.includes(column)) return column;
  if (!isNamed) return null;
  const name = typeof reference === "string" ? reference : columnInfoOf(reference).name;
  throw new Error(`${subject}: "${table.name}" has no column "${name}"`);
}

/** Throws if the table or a column is missing. Ignores a database that does not respond. */
async function requireColumns(db: Database, table: TableInfo, isOwn: boolean): Promise<void> {
  try {
    await db.sql`SELECT count(*) AS count FROM ${table} WHERE 1 = 0`;
    // Reads all columns, because another program may have created this table with other columns.
    if (isOwn) {
      const { id, email, name, passwordHash, roles, disabled, createdAt } = usersTable;
      await db.sql`SELECT ${id}, ${email}, ${name}, ${passwordHash}, ${roles}, ${disabled},
        ${createdAt} FROM ${usersTable} WHERE 1 = 0`;
    }
  } catch (error) {
    if (!(error instanceof DatabaseError) || error.kind === "unavailable") return;
    const hint = isOwn ? ". Name the table of the accounts in users: { table, columns }" : "";
    throw new Error(`${subject}: "${table.name}" cannot be read: ${reasonOf(error)}${hint}`, {
      cause: error,
    });
  }
}

function withEmailSpellings(accounts: Accounts): Accounts {
  async function find(spellings: readonly string[]) {
    // Looks up all spellings, so that the response time does not reveal which of them exists.
    const found = await Promise.all(spellings.map((one) => accounts.findByEmail(one)));
    return found.find((account) => account !== null) ?? null;
  }
  return {
    ...accounts,
    findByEmail: (email) => find(emailSpellings(email)),
    async add(account) {
      // `add` checks the first spelling. No account is ever added with one of the others.
      const [, ...others] = emailSpellings(account.email);
      return await find(others) === null ? await accounts.add(account) : null;
    },
  };
}

const maxTries = 10;

function createKvAccounts(
  store: KeyValue,
  { clock, random }: Pick<Runtime, "clock" | "random">,
): Accounts {
  async function read(id: string) {
    const { value, versionstamp } = await store.get(accountKey(id));
    return { account: isAccount(value) ? value : null, versionstamp };
  }

  async function change(id: string, next: (account: Account) => Account | null): Promise<boolean> {
    for (let tries = 0; tries < maxTries; tries++) {
      const { account, versionstamp } = await read(id);
      const changed = account === null ? null : next(account);
      if (changed === null) return false;
      const checks = [{ key: accountKey(id), versionstamp }];
      const { ok } = await store.commit({ checks, mutations: [setOf(changed)] });
      if (ok) return true;
    }
    throw new Error("Cannot change the account: others were faster each time");
  }

  return {
    findById: async (id) => (await read(id)).account,
    async findByEmail(email) {
      const { value } = await store.get(emailKey(email));
      return typeof value === "string" ? (await read(value)).account : null;
    },
    async add(given) {
      const id = uuidV7(clock, random);
      const createdAt = instantOf(clock.now());
      const account: Account = { id, ...given, isDisabled: false, createdAt };
      const email = emailKey(given.email);
      const { ok } = await store.commit({
        checks: [{ key: email, versionstamp: null }],
        mutations: [{ kind: "set", key: email, value: id }, setOf(account)],
        claim: email,
      });
      return ok ? account : null;
    },
    setPassword: ({ id, passwordHash: expected }, passwordHash) =>
      change(
        id,
        (account) => account.passwordHash === expected ? { ...account, passwordHash } : null,
      ),
    change: (id, changes: AccountChange) => change(id, (account) => ({ ...account, ...changes })),
    async remove({ id, email }) {
      const { account, versionstamp } = await read(id);
      if (account?.email !== email) return false;
      const key = accountKey(id);
      const { ok } = await store.commit({
        checks: [{ key, versionstamp }],
        mutations: [key, emailKey(email)].map((key) => ({ kind: "delete", key })),
      });
      return ok;
    },
    async list(after, limit) {
      const page = { prefix: ["account"], limit };
      const entries = await store.list(
        after === null ? page : { ...page, after: accountKey(after) },
      );
      return entries.map(({ value }) => value).filter(isAccount);
    },
  };
}

function setOf(account: Account): KeyValueMutation {
  return { kind: "set", key: accountKey(account.id), value: account };
}

function accountKey(id: string): KeyValueKey {
  return ["account", id];
}

function emailKey(email: string): KeyValueKey {
  return ["account-email", hashOfToken(email)];
}

function isAccount(value: unknown): value is Account {
  return hasMemberTypes(value, { id: "string", email: "string", passwordHash: "string" }) &&
    hasMemberTypes(value, { isDisabled: "boolean" }) &&
    Array.isArray(Reflect.get(Object(value), "roles"));
}
