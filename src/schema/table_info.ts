/** The kinds a column can have; each defines a JSON representation, checks and an order. */
export type ColumnKind =
  | "text"
  | "integer"
  | "bigint"
  | "real"
  | "decimal"
  | "boolean"
  | "timestamp"
  | "date"
  | "uuid"
  | "json"
  | "bytes";

/** The source of an omitted column's value. */
export type ColumnDefault =
  | { readonly kind: "value"; readonly value: unknown }
  | { readonly kind: "function"; readonly make: () => unknown }
  /**
   * The database supplies it: a DEFAULT clause of an existing table, an identity column. `sql` is
   * the clause, null where there is none that could be repeated.
   */
  | { readonly kind: "database"; readonly sql: string | null };

/**
 * The format of timestamps in an existing SQLite table; tables that the service creates use
 * {@link ownTimestamps}. It is detected once from the stored rows, then used for reading, binding
 * and writing.
 *
 * The texts are in UTC. `.fff` are three digits, or six where the microseconds need them; `[.fff]`
 * is the same, omitted where it is zero; `[.ffffff]` are six digits or none.
 */
export type TimestampFormat =
  | "epoch-seconds"
  | "epoch-milliseconds"
  | `date${"T" | " "}time${".ffffff" | ".fff" | "[.fff]" | "[.ffffff]"}${"" | "Z" | "+00:00"}`;

/** The formats that are texts. */
export type TimestampText = Exclude<TimestampFormat, `epoch-${string}`>;

/** The format of tables that the service creates: fixed width, so that it sorts as text. */
export const ownTimestamps: TimestampText = "dateTtime.ffffffZ";

/** A column, declared with `table()` or introspected. */
export interface ColumnInfo {
  /** The name in request bodies and rows. */
  readonly name: string;
  /** The name in the database. */
  readonly dbName: string;
  /** The kind of its values. */
  readonly kind: ColumnKind;
  /** Whether every row has a value. */
  readonly notNull: boolean;
  /** Whether it belongs to the primary key. */
  readonly primaryKey: boolean;
  /** Whether no two rows share a value. */
  readonly unique: boolean;
  /** The default of an omitted value. */
  readonly default: ColumnDefault | null;
  /** Computed by the database; may be read, never written. */
  readonly generated: boolean;
  /** The allowed texts of an enum column. */
  readonly enumValues: readonly string[] | null;
  /** Of a decimal: the number of all digits. */
  readonly precision: number | null;
  /** Of a decimal: the number of digits after the point; null where each value has its own. */
  readonly scale: number | null;
  /** Of a text: the longest value in characters, when declared. */
  readonly maxLength: number | null;
  /** The column that a foreign key of this column alone references. */
  readonly references: ColumnReference | null;
  /**
   * The declared type of a column that the service did not create, e.g. `NVARCHAR(160)` or `inet`;
   * null for tables that it creates, whose types follow from the kind.
   */
  readonly existingType: string | null;
  /**
   * Whether the collation of an existing column treats different texts as equal, as a
   * nondeterministic one of Postgres does. Filters and keys distinguish them all the same.
   */
  readonly looseCollation: boolean;
  /** Of a timestamp: its format in a database without such a type. */
  readonly timestampFormat: TimestampFormat;
}

/** The column that a one-column foreign key references. */
export interface ColumnReference {
  /** The table, by its name in the database. */
  readonly table: string;
  /** The column, by its name in the database. */
  readonly column: string;
}

/** A foreign key of one or more columns, in database names. */
export interface ForeignKey {
  /** The referencing columns. */
  readonly columns: readonly string[];
  /** The referenced table. */
  readonly table: string;
  /** The referenced columns, in the order of `columns`. */
  readonly references: readonly string[];
}

/**
 * Whether a new row needs a value. A key column of SQLite may hold NULL in existing rows, and then
 * is not `notNull`; but a new row without a key could never be addressed.
 */
export function isRequired(column: ColumnInfo): boolean {
  return column.notNull || column.primaryKey;
}

/** A table, declared with `table()` or introspected, in one representation for all engines. */
export interface TableInfo {
  /** The name in the database. */
  readonly name: string;
  /** The Postgres schema, or null for the default one. */
  readonly schema: string | null;
  /** In declaration order. */
  readonly columns: readonly ColumnInfo[];
  /** By name. A Map, so that inherited names such as `constructor` are unknown. */
  readonly byName: ReadonlyMap<string, ColumnInfo>;
  /** In key order; never empty. */
  readonly primaryKey: readonly ColumnInfo[];
  /** The foreign keys, of one or more columns each. */
  readonly foreignKeys: readonly ForeignKey[];
  /** Whether the service creates it. False for introspected tables, which keep their collations. */
  readonly own: boolean;
}

/** A row in process, by column name: values as in JSON responses, hidden columns included. */
export type Row = Readonly<Record<string, unknown>>;

/** The parts of {@link createTableInfo}. */
export interface TableInfoOptions
  extends Pick<TableInfo, "name" | "schema" | "columns" | "foreignKeys" | "own"> {
  /** The key columns in key order, where that differs from the order of the columns. */
  readonly primaryKey?: readonly ColumnInfo[];
}

/** Creates a table's description from its columns. */
export function createTableInfo(declared: TableInfoOptions): TableInfo {
  const { name, schema, columns, own } = declared;
  return Object.freeze({
    name,
    schema,
    columns: Object.freeze(columns),
    byName: new Map(columns.map((column) => [column.name, column])),
    primaryKey: Object.freeze(declared.primaryKey ?? columns.filter((column) => column.primaryKey)),
    // Lazy: `table()` cannot resolve them before the referenced table is declared.
    get foreignKeys() {
      return declared.foreignKeys;
    },
    own,
  });
}
