/** The kinds a column can have; each fixes a wire form, checks and an order. */
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

/** Where the value of an omitted column comes from. */
export type ColumnDefault =
  | { readonly kind: "value"; readonly value: unknown }
  | { readonly kind: "function"; readonly make: () => unknown }
  /**
   * The database knows it: a DEFAULT clause of a foreign table, an identity column. `sql` is the
   * clause, null where there is none to repeat.
   */
  | { readonly kind: "database"; readonly sql: string | null };

/**
 * How a foreign SQLite table keeps its timestamps; tables of our own use {@link ownTimestamps}.
 * Probed once from the stored rows, then used for reading, binding and writing.
 *
 * The texts are in UTC. `.fff` are three digits, or six where the microseconds need them; `[.fff]`
 * is the same, left out where it is zero; `[.ffffff]` are six digits or none.
 */
export type TimestampFormat =
  | "epoch-seconds"
  | "epoch-milliseconds"
  | `date${"T" | " "}time${".ffffff" | ".fff" | "[.fff]" | "[.ffffff]"}${"" | "Z" | "+00:00"}`;

/** The formats that are texts. */
export type TimestampText = Exclude<TimestampFormat, `epoch-${string}`>;

/** The format of the tables that we create: one width, so that it sorts as text. */
export const ownTimestamps: TimestampText = "dateTtime.ffffffZ";

/** One column, whatever declared it. */
export interface ColumnInfo {
  /** The property of request bodies and rows. */
  readonly name: string;
  /** The name in the database. */
  readonly dbName: string;
  /** What its values are. */
  readonly kind: ColumnKind;
  /** Whether every row has a value. */
  readonly notNull: boolean;
  /** Whether it belongs to the key. */
  readonly primaryKey: boolean;
  /** Whether no two rows share a value. */
  readonly unique: boolean;
  /** What an omitted value becomes. */
  readonly default: ColumnDefault | null;
  /** Computed by the database; may be read, never written. */
  readonly generated: boolean;
  /** The allowed texts of an enum column. */
  readonly enumValues: readonly string[] | null;
  /** Of a decimal: all digits. */
  readonly precision: number | null;
  /** Of a decimal: digits after the point; null where each value keeps its own. */
  readonly scale: number | null;
  /** Of a text: the longest value in characters, when declared. */
  readonly maxLength: number | null;
  /** Where a foreign key of this column alone points. */
  readonly references: ColumnReference | null;
  /**
   * How the database declares the type of a column that we did not create, e.g. `NVARCHAR(160)`
   * or `inet`; null for our own tables, whose types follow from the kind.
   */
  readonly existingType: string | null;
  /**
   * Whether the collation of a foreign column takes different texts for equal, as a
   * nondeterministic one of Postgres does. Filters and keys tell them apart all the same.
   */
  readonly looseCollation: boolean;
  /** Of a timestamp: how a database without such a type keeps it. */
  readonly timestampFormat: TimestampFormat;
}

/** The column that a one-column foreign key points to. */
export interface ColumnReference {
  /** The table, by its name in the database. */
  readonly table: string;
  /** The column, by its name in the database. */
  readonly column: string;
}

/** A foreign key of one or more columns, in database names. */
export interface ForeignKey {
  /** The columns that point. */
  readonly columns: readonly string[];
  /** The table pointed to. */
  readonly table: string;
  /** The columns pointed to, in the order of `columns`. */
  readonly references: readonly string[];
}

/**
 * Whether a row must be written with a value. A key column of SQLite may hold NULL in rows that
 * are there, and then is not `notNull`; but a new row without a key could never be addressed.
 */
export function isRequired(column: ColumnInfo): boolean {
  return column.notNull || column.primaryKey;
}

/** A table as one neutral value: declared with `table()` or read from a live database. */
export interface TableInfo {
  /** The name in the database. */
  readonly name: string;
  /** The Postgres schema, or null for the default one. */
  readonly schema: string | null;
  /** In the order of the database. */
  readonly columns: readonly ColumnInfo[];
  /** By property name. A Map, so that `constructor` is unknown like any other name. */
  readonly byName: ReadonlyMap<string, ColumnInfo>;
  /** In key order; never empty. */
  readonly primaryKey: readonly ColumnInfo[];
  /** Of one or more columns each. */
  readonly foreignKeys: readonly ForeignKey[];
  /** False for tables read from a live database: their text keeps its own collation. */
  readonly own: boolean;
}

/** A row in process, by property name, in wire form: what a client sees, unmasked. */
export type Row = Readonly<Record<string, unknown>>;

/** What a table is completed from; the key is in declaration order unless it is given. */
export interface TableInfoOptions
  extends Pick<TableInfo, "name" | "schema" | "columns" | "foreignKeys" | "own"> {
  /** The key in its own order, where that is not the order of the columns. */
  readonly primaryKey?: readonly ColumnInfo[];
}

/** Completes a table from its columns. */
export function createTableInfo(declared: TableInfoOptions): TableInfo {
  const { name, schema, columns, own } = declared;
  return Object.freeze({
    name,
    schema,
    columns: Object.freeze(columns),
    byName: new Map(columns.map((column) => [column.name, column])),
    primaryKey: Object.freeze(declared.primaryKey ?? columns.filter((column) => column.primaryKey)),
    // Asked for late: `table()` cannot know them before the table they point to is declared.
    get foreignKeys() {
      return declared.foreignKeys;
    },
    own,
  });
}
