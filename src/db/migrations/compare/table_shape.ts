import { isSameName } from "../../../sql/fragment.ts";

/** The shape (columns, keys, constraints and indexes) of a declared or of an existing table. */
export interface TableShape {
  readonly schema: string | null;
  readonly name: string;
  readonly columns: readonly ColumnShape[];
  /** The names of the columns of the primary key, in their order. */
  readonly key: readonly string[];
  /** The name of the primary key's constraint, or null if the engine names none. */
  readonly keyName: string | null;
  /** The unique constraints and indexes besides the primary key. */
  readonly uniques: readonly UniqueShape[];
  readonly checks: readonly CheckShape[];
  readonly foreignKeys: readonly ForeignKeyShape[];
  readonly indexes: readonly IndexShape[];
  /** The CREATE TABLE statement of a declared table or of a SQLite table. Null on Postgres. */
  readonly sql: string | null;
}

export interface ColumnShape {
  readonly name: string;
  /** The type as the engine prints it. */
  readonly type: string;
  /** The collation, or null for the default collation of the type. */
  readonly collation: string | null;
  /** True if the column is declared NOT NULL. In SQLite, a key column can lack NOT NULL. */
  readonly notNull: boolean;
  readonly default: string | null;
  readonly generated: string | null;
  /** True if the database generates the values: an identity column, or a row id of SQLite. */
  readonly countsUp: boolean;
  /** The strings that an enum column's CHECK allows, and the name of the CHECK or null. */
  readonly members: { readonly values: readonly string[]; readonly check: string | null } | null;
}

export interface UniqueShape {
  /** The name of the constraint or of the index, or null if it has none. */
  readonly name: string | null;
  readonly columns: readonly string[];
  /** The statement of the index, or null for a constraint. */
  readonly index: string | null;
}

/** A CHECK in the shape of a table, except the CHECK of an enum column. */
export interface CheckShape {
  readonly name: string | null;
  readonly sql: string;
}

export interface ForeignKeyShape {
  readonly name: string | null;
  readonly columns: readonly string[];
  readonly schema: string | null;
  readonly table: string;
  readonly references: readonly string[];
  /** The action in lower case, such as `set null`, or null for no action. */
  readonly onDelete: string | null;
  readonly onUpdate: string | null;
}

/** An index in the shape of a table, except a unique index of whole columns. */
export interface IndexShape {
  readonly name: string;
  /** The indexed columns or expressions. */
  readonly parts: readonly string[];
  readonly unique: boolean;
  /** The condition of a partial index, or null for any other index. */
  readonly where: string | null;
  /** True if a declaration can express the index: only columns, and the default kind of index. */
  readonly isPlain: boolean;
  /** False after a failed `CREATE INDEX CONCURRENTLY` of Postgres: the index enforces nothing. */
  readonly isValid: boolean;
  readonly sql: string;
}

/** The name of a table. The schema is null for the default schema. */
export interface TableName {
  readonly schema: string | null;
  readonly name: string;
}

/** The existing tables that have the requested names, and other relations with these names. */
export interface ExistingShapes {
  readonly tables: readonly TableShape[];
  /** Views and other relations that are not tables. A migration never compares or changes them. */
  readonly others: readonly TableName[];
}

export function findTable<T extends TableName & { readonly sql?: string | null }>(
  tables: readonly T[],
  { schema, name }: TableName,
): T | undefined {
  return tables.find((table) =>
    table.schema === schema && isSameTableName(table, table.name, name)
  );
}

/** Returns true if two names are equal. Case matters for Postgres shapes, which lack `sql`. */
export function isSameTableName(
  { sql }: { readonly sql?: string | null },
  left: string,
  right: string,
): boolean {
  return sql === null ? left === right : isSameName(left, right);
}

/** Returns true if two lists have the same names, ignoring case. */
export function isSameSet(left: readonly string[], right: readonly string[]): boolean {
  return left.length === right.length &&
    left.every((name) => right.some((other) => isSameName(name, other)));
}

/** Returns true if two lists of names are the same in the same order. */
export function isSameList(left: readonly string[], right: readonly string[]): boolean {
  return left.length === right.length &&
    left.every((name, index) => isSameName(name, right[index] ?? ""));
}
