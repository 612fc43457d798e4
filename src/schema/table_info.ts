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
  /** The database knows it: a DEFAULT clause of a foreign table, an identity column. */
  | { readonly kind: "database" };

/**
 * How a foreign SQLite table keeps its timestamps; tables of our own use `micros-text`.
 * Probed once from the stored rows, then used for reading, binding and writing.
 */
export type TimestampFormat =
  | "micros-text" // 2026-01-31T12:00:00.000000Z
  | "space-text" // 2026-01-31 12:00:00, with as many fraction digits as the rows hold
  | "iso-text" // 2026-01-31T12:00:00.000Z
  | "epoch-seconds"
  | "epoch-milliseconds";

/** One column, whatever declared it. */
export interface ColumnInfo {
  /** The property of request bodies and rows. */
  readonly name: string;
  /** The name in the database. */
  readonly dbName: string;
  readonly kind: ColumnKind;
  readonly notNull: boolean;
  readonly primaryKey: boolean;
  readonly unique: boolean;
  readonly default: ColumnDefault | null;
  /** Computed by the database; may be read, never written. */
  readonly generated: boolean;
  /** The allowed texts of an enum column. */
  readonly enumValues: readonly string[] | null;
  /** Of a decimal: total digits and digits after the point. */
  readonly precision: number | null;
  readonly scale: number | null;
  /** Of a text: the longest value in characters, when declared. */
  readonly maxLength: number | null;
  readonly references: ColumnReference | null;
  /**
   * How the database declares the type of a column that we did not create, e.g. `NVARCHAR(160)`
   * or `inet`; null for our own tables, whose types follow from the kind.
   */
  readonly foreignType: string | null;
  readonly timestampFormat: TimestampFormat;
}

/** The column that a one-column foreign key points to. */
export interface ColumnReference {
  readonly table: string;
  readonly column: string;
}

/** A foreign key of one or more columns, in database names. */
export interface ForeignKey {
  readonly columns: readonly string[];
  readonly table: string;
  readonly references: readonly string[];
}

/** A table as one neutral value: declared with `table()` or read from a live database. */
export interface TableInfo {
  /** The name in the database. */
  readonly name: string;
  /** The Postgres schema, or null for the default one. */
  readonly schema: string | null;
  readonly columns: readonly ColumnInfo[];
  /** By property name. A Map, so that `constructor` is unknown like any other name. */
  readonly byName: ReadonlyMap<string, ColumnInfo>;
  /** In key order; never empty. */
  readonly primaryKey: readonly ColumnInfo[];
  readonly foreignKeys: readonly ForeignKey[];
  /** False for tables read from a live database: their text keeps its own collation. */
  readonly own: boolean;
}

/** A row in process, by property name, in wire form: what a client sees, unmasked. */
export type Row = Readonly<Record<string, unknown>>;

/** Completes a table from its columns. */
export function completeTable(
  declared: Pick<TableInfo, "name" | "schema" | "columns" | "foreignKeys" | "own">,
): TableInfo {
  return Object.freeze({
    ...declared,
    byName: new Map(declared.columns.map((column) => [column.name, column])),
    primaryKey: declared.columns.filter((column) => column.primaryKey),
  });
}
