import { kindProperties } from "../../schema/kinds/kind_properties.ts";
import { DatabaseError, databaseProblem } from "../../db/database_error.ts";
import { Problem } from "../../problem/problem.ts";
import { type Runtime, uuidV7 } from "../../runtime/runtime.ts";
import { instantOf } from "../../schema/instant.ts";
import { InvalidValue } from "../../schema/kind.ts";
import { kindOfColumn } from "../../schema/structured/structured_value.ts";
import { columnInfoKey, type ColumnLike, tableInfoKey } from "../../schema/table_like.ts";
import { type ColumnInfo, isRequired, type Row, type TableInfo } from "../../schema/table_info.ts";
import type { Account, AccountChange, Accounts, NewAccount } from "./account.ts";
import type { Database } from "../../db/database.ts";

export interface AccountColumns {
  readonly id: ColumnInfo;
  readonly email: ColumnInfo;
  readonly passwordHash: ColumnInfo;
  readonly name: ColumnInfo | null;
  /** The column of the roles: JSON with a list of strings, or a string with one role. */
  readonly roles: ColumnInfo | null;
  readonly disabled: ColumnInfo | null;
  readonly createdAt: ColumnInfo | null;
}

export interface AccountTable {
  readonly db: Database;
  readonly table: TableInfo;
  readonly columns: AccountColumns;
  /** True if the table has an `ON CONFLICT` clause (SQLite), which `OR ABORT` must override. */
  readonly isConflicting: boolean;
}

export function createTableAccounts(
  { db, table, columns, isConflicting }: AccountTable,
  runtime: Pick<Runtime, "clock" | "random">,
): Accounts {
  const { sql } = db;
  const named = (column: ColumnInfo) => namedColumn(table, column);
  const orAbort = isConflicting ? sql`OR ABORT` : sql``;
  const id = named(columns.id);
  const hash = named(columns.passwordHash);
  const selected = listed(Object.values(columns).filter((column) => column !== null).map(named));

  async function find(column: ColumnInfo, value: unknown): Promise<Account | null> {
    if (value === null) return null;
    const { rows: [row] } = await sql<Row>`
      SELECT ${selected} FROM ${table} WHERE ${named(column)} = ${sql.value(named(column), value)}`;
    return row === undefined ? null : accountOf(row, columns);
  }

  function listed(values: readonly object[]): object {
    return values.reduce((list, value) => sql`${list}, ${value}`);
  }

  async function add(account: NewAccount): Promise<Account | null> {
    const given = [...newRow(account, { table, columns }, runtime)];
    const names = listed(given.map(([column]) => named(column)));
    const values = listed(given.map(([column, value]) => sql.value(named(column), value)));
    try {
      await sql`INSERT ${orAbort} INTO ${table} (${names}) VALUES (${values})`;
    } catch (error) {
      if (error instanceof DatabaseError && error.kind === "unique") return null;
      throw error;
    }
    return await find(columns.email, account.email);
  }

  async function setPassword(account: Account, passwordHash: string): Promise<boolean> {
    const { changed } = await sql`
      UPDATE ${orAbort} ${table} SET ${hash} = ${passwordHash}
      WHERE ${id} = ${keyOf(account.id, columns.id)} AND ${hash} = ${account.passwordHash}`;
    return changed === 1;
  }

  async function change(key: string, { roles, isDisabled }: AccountChange): Promise<boolean> {
    const set: object[] = [];
    const assign = (column: ColumnInfo, value: unknown) =>
      set.push(sql`${named(column)} = ${sql.value(named(column), value)}`);
    if (roles !== undefined) {
      const column = required(columns.roles, "roles");
      assign(column, storedRoles(column, roles));
    }
    if (isDisabled !== undefined) assign(required(columns.disabled, "disabled"), isDisabled);
    const { changed } = await sql`
      UPDATE ${orAbort} ${table} SET ${listed(set)} WHERE ${id} = ${keyOf(key, columns.id)}`;
    return changed === 1;
  }

  async function list(after: string | null, limit: number): Promise<readonly Account[]> {
    const { rows } = after === null
      ? await sql<Row>`SELECT ${selected} FROM ${table} ORDER BY ${id} LIMIT ${limit}`
      : await sql<Row>`SELECT ${selected} FROM ${table}
          WHERE ${id} > ${keyOf(after, columns.id)} ORDER BY ${id} LIMIT ${limit}`;
    return rows.map((row) => accountOf(row, columns));
  }

  return {
    findById: (key) => answered(() => find(columns.id, possibleKey(key, columns.id))),
    findByEmail: (address) => answered(() => find(columns.email, address)),
    add: (account) => answered(() => add(account)),
    setPassword: (account, passwordHash) => answered(() => setPassword(account, passwordHash)),
    change: (key, changes) => answered(() => change(key, changes)),
    remove: (account) => answered(() => remove(account, { db, table, columns })),
    list: (after, limit) => answered(() => list(after, limit)),
  };
}

async function remove(
  { id, email }: Account,
  { db: { sql }, table, columns }: Omit<AccountTable, "isConflicting">,
): Promise<boolean> {
  const [key, address] = [namedColumn(table, columns.id), namedColumn(table, columns.email)];
  const { changed } = await sql`
    DELETE FROM ${table} WHERE ${key} = ${keyOf(id, columns.id)} AND ${address} = ${email}`;
  return changed === 1;
}

type Columns = Pick<AccountTable, "table" | "columns">;

export function unfilledColumn({ table, columns }: Columns): ColumnInfo | null {
  const known = new Set<ColumnInfo | null>(Object.values(columns));
  return table.columns.find((column) =>
    !known.has(column) && isRequired(column) && column.default === null && !column.generated
  ) ?? null;
}

async function answered<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw databaseProblem(error, "use accounts");
  }
}

/** Makes a column usable in `sql`, because introspection returns only its {@link ColumnInfo}. */
function namedColumn(table: TableInfo, column: ColumnInfo): ColumnLike<unknown> {
  const named: unknown = { [columnInfoKey]: column, [tableInfoKey]: table };
  // The cast is safe: the missing members exist only in the type.
  return named as ColumnLike<unknown>;
}

function newRow(
  account: NewAccount,
  { table, columns }: Columns,
  { clock, random }: Pick<Runtime, "clock" | "random">,
): ReadonlyMap<ColumnInfo, unknown> {
  const row = new Map<ColumnInfo, unknown>();
  // The service sets only the defaults of these two kinds. The database sets all others.
  for (const column of table.columns) {
    if (column.default?.kind === "function") row.set(column, column.default.make());
    if (column.default?.kind === "value") row.set(column, column.default.value);
  }
  const { kind, default: ownDefault } = columns.id;
  if (ownDefault === null && kindProperties[kind].generates === "key") {
    row.set(columns.id, uuidV7(clock, random));
  }
  row.set(columns.email, account.email);
  row.set(columns.passwordHash, account.passwordHash);
  if (columns.name !== null) row.set(columns.name, account.name);
  if (columns.roles !== null && setsRoles(columns.roles, account.roles)) {
    row.set(columns.roles, storedRoles(columns.roles, account.roles));
  }
  if (columns.createdAt !== null) row.set(columns.createdAt, instantOf(clock.now()));
  return row;
}

function accountOf(row: Row, columns: AccountColumns): Account {
  const of = (column: ColumnInfo | null) => column === null ? null : row[column.name] ?? null;
  const [name, createdAt] = [of(columns.name), of(columns.createdAt)];
  const roles = of(columns.roles);
  const list = Array.isArray(roles) ? roles : [roles];
  return {
    id: String(of(columns.id)),
    email: String(of(columns.email)),
    name: typeof name === "string" ? name : null,
    roles: list.filter((role) => typeof role === "string" && role !== ""),
    isDisabled: of(columns.disabled) === true,
    ...(createdAt === null ? {} : { createdAt: String(createdAt) }),
    passwordHash: String(of(columns.passwordHash) ?? ""),
  };
}

function setsRoles(column: ColumnInfo, roles: readonly string[]): boolean {
  return roles.length > 0 || column.default === null;
}

export function newRolesError(column: ColumnInfo, roles: readonly string[]): string | null {
  return setsRoles(column, roles) ? mistakeOfRoles(column, roles) : null;
}

function mistakeOfRoles(column: ColumnInfo, roles: readonly string[]): string | null {
  if (column.kind !== "text") return null;
  const [role, another] = roles;
  if (another !== undefined) return "holds one role, a string";
  if (role === undefined) return isRequired(column) ? "needs a role" : null;
  try {
    kindOfColumn(column).fromJson(role, column);
    return null;
  } catch (error) {
    if (!(error instanceof InvalidValue)) throw error;
    return `does not take the role ${JSON.stringify(role)}: it ${error.message}`;
  }
}

function storedRoles(column: ColumnInfo, roles: readonly string[]): unknown {
  const mistake = mistakeOfRoles(column, roles);
  if (mistake !== null) throw unstorable(`Cannot store the roles: "${column.name}" ${mistake}`);
  return column.kind === "text" ? roles[0] ?? null : roles;
}

function keyOf(id: string, { kind }: ColumnInfo): string | number {
  return kind === "integer" ? Number(id) : id;
}

/** Returns an id as a key; null if the column cannot contain it. An operator may have typed it. */
function possibleKey(id: string, column: ColumnInfo): unknown {
  try {
    return kindOfColumn(column).fromText(id, column);
  } catch (error) {
    if (error instanceof InvalidValue) return null;
    throw error;
  }
}

function required(column: ColumnInfo | null, name: string): ColumnInfo {
  if (column !== null) return column;
  throw unstorable(`Cannot change the account: its table has no column for ${name}`);
}

function unstorable(message: string): Problem {
  return new Problem("validation-error", message);
}
