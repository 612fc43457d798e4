import { engineOf } from "../../db/engine/engine_of.ts";
import { DatabaseError, reasonOf } from "../../db/database_error.ts";
import { columnInfoOf, isTableInfo, isTableLike, tableInfoOf } from "../../schema/table_like.ts";
import type { ColumnInfo, TableInfo } from "../../schema/table_info.ts";
import type { AuthenticatorDependencies } from "../authenticator_dependencies.ts";
import type { Accounts } from "./account.ts";
import { withEmailSpellings } from "../signups/spelled_accounts.ts";
import { createKvAccounts } from "./kv_accounts.ts";
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

/**
 * Opens the accounts of an app: in the key-value store, or in a table of the application or of this
 * service. Throws a plain Error for a table that cannot contain accounts.
 */
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

/** Returns the column; null if it is missing, unless an option names it: then throws. */
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
    // Another program may have created a table with this name.
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
