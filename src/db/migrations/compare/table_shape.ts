/**
 * The shape of a table: what its declaration asks of the database, or what the database has, in the
 * same terms, so that the two are compared.
 */
export interface TableShape {
  readonly schema: string | null;
  readonly name: string;
  readonly columns: readonly ColumnShape[];
  /** The names of the key columns, in key order. */
  readonly key: readonly string[];
  /** The name of the constraint of the key, where the engine gives it one. */
  readonly keyName: string | null;
  /** The sets of columns that no two rows share, beside the key. */
  readonly uniques: readonly UniqueShape[];
  readonly checks: readonly CheckShape[];
  readonly foreignKeys: readonly ForeignKeyShape[];
  readonly indexes: readonly IndexShape[];
  /** The CREATE TABLE statement, where there is one: of a declared table, and of SQLite. */
  readonly sql: string | null;
}

/** A column in the shape of a table. */
export interface ColumnShape {
  readonly name: string;
  /** The type as the engine prints it. */
  readonly type: string;
  /** The collation that it names; null for the one that comes with the type. */
  readonly collation: string | null;
  /** True if no row may have NULL. A key column of SQLite says so only where it is declared. */
  readonly notNull: boolean;
  /** The expression of the DEFAULT clause. */
  readonly default: string | null;
  /** The expression of a generated column. */
  readonly generated: string | null;
  /** True if the database gives the values: an identity column, or a row id of SQLite. */
  readonly countsUp: boolean;
  /** The strings that a check allows, and its name where it has one. */
  readonly members: { readonly values: readonly string[]; readonly check: string | null } | null;
}

/** In the shape of a table: columns that no two rows share. */
export interface UniqueShape {
  /** The name of the constraint or of the index, where it has one. */
  readonly name: string | null;
  readonly columns: readonly string[];
  /** The statement of the index, where no constraint stands for it. */
  readonly index: string | null;
}

/** In the shape of a table: a check that is no list of allowed strings. */
export interface CheckShape {
  readonly name: string | null;
  readonly sql: string;
}

/** In the shape of a table: a foreign key. */
export interface ForeignKeyShape {
  readonly name: string | null;
  readonly columns: readonly string[];
  readonly schema: string | null;
  readonly table: string;
  readonly references: readonly string[];
  /** In lower case, e.g. `set null`; null if nothing is done. */
  readonly onDelete: string | null;
  readonly onUpdate: string | null;
}

/** In the shape of a table: an index, except for those that keep whole columns distinct. */
export interface IndexShape {
  readonly name: string;
  /** Columns or expressions. */
  readonly parts: readonly string[];
  readonly unique: boolean;
  /** The condition of a partial index. */
  readonly where: string | null;
  /** True if a declaration could ask for it: no expression, no other kind of index. */
  readonly isPlain: boolean;
  /** False for what a failed `CREATE INDEX CONCURRENTLY` of Postgres leaves: it keeps nothing distinct. */
  readonly isValid: boolean;
  /** The statement that creates it. */
  readonly sql: string;
}

/** The name of a table, with its schema where it is not the default one. */
export interface TableName {
  readonly schema: string | null;
  readonly name: string;
}

/** What a database has under the names of tables. */
export interface ExistingShapes {
  readonly tables: readonly TableShape[];
  /** Views, and others that are no tables: these are never compared nor changed. */
  readonly others: readonly TableName[];
}

/** The table of a name among those that were read. */
export function shapeOf<T extends TableName & { readonly sql?: string | null }>(
  tables: readonly T[],
  { schema, name }: TableName,
): T | undefined {
  return tables.find((table) => table.schema === schema && isNamedAlike(table, table.name, name));
}

/** Returns true if two names are the same in the database of a table: Postgres, which has no `sql` of tables, heeds case. */
export function isNamedAlike(
  { sql }: { readonly sql?: string | null },
  left: string,
  right: string,
): boolean {
  return sql === null ? left === right : isSameName(left, right);
}

/** Returns true if two lists of names are the same set, by the comparison of names of SQLite. */
export function isSameSet(left: readonly string[], right: readonly string[]): boolean {
  return left.length === right.length &&
    left.every((name) => right.some((other) => isSameName(name, other)));
}

/** Returns true if two lists of names are the same in the same order. */
export function isSameList(left: readonly string[], right: readonly string[]): boolean {
  return left.length === right.length &&
    left.every((name, index) => isSameName(name, right[index] ?? ""));
}

/** Returns true if two names are the same to SQLite. */
export function isSameName(left: string, right: string): boolean {
  return left === right || left.toLowerCase() === right.toLowerCase();
}
