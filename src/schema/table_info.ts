import { type ColumnKind, unrestrictedRules, type ValueRules } from "./kind.ts";
import type { ViewInfo } from "./view_info.ts";
import type {
  CheckInfo,
  ColumnReference,
  ForeignKeyActions,
  IndexInfo,
} from "./table_constraints.ts";

/** The source of the value if a new row does not set the column. */
export type ColumnDefault =
  | { readonly kind: "value"; readonly value: unknown }
  | { readonly kind: "function"; readonly make: () => unknown }
  /**
   * The database sets the value, by a DEFAULT clause or as an identity column. `sql` is the SQL of
   * the clause, or null if the service cannot use the SQL. `value` is set if the SQL was a constant
   * when the service read it. An INSERT still omits the column, because the clause can change.
   */
  | { readonly kind: "database"; readonly sql: string | null; readonly value?: unknown };

/**
 * The format of timestamps in a column of an existing SQLite table. Tables of the service have
 * {@link serviceTimestampFormat}. The service finds out the format once from stored rows, and then
 * reads and writes values in it.
 *
 * The strings are in UTC. `.fff` is three digits, or six if there are microseconds. `[.fff]` is
 * omitted if it is zero. `[.ffffff]` is six digits or none.
 */
export type TimestampFormat =
  | "epoch-seconds"
  | "epoch-milliseconds"
  | `date${"T" | " "}time${".ffffff" | ".fff" | "[.fff]" | "[.ffffff]"}${"" | "Z" | "+00:00"}`;

export type TimestampText = Exclude<TimestampFormat, `epoch-${string}`>;

/** The format in tables of the service: its fixed width lets strings sort by time. */
export const serviceTimestampFormat: TimestampText = "dateTtime.ffffffZ";

/** A type without a column kind, such as `inet` or an enum. Only the database compares values. */
export interface DatabaseType {
  /** The quoted name of the type, or of a domain's base type, for casts. Contains no length. */
  readonly sqlName: string;
  /** The JSON structure of the values. */
  readonly shape: ValueShape;
  /** True if the values have an order. If not, filters test only NULL and equality of strings. */
  readonly ordered: boolean;
  /** True if the database has min() and max() for the type. */
  readonly hasExtremes: boolean;
  /** True if the database ignores case when it compares values of the type, as with `citext`. */
  readonly ignoresCase: boolean;
  /** The text search configuration of a `tsvector` column; null for the database's default. */
  readonly configuration?: string | null;
}

export const anyType: DatabaseType = Object.freeze({
  sqlName: "any",
  shape: { kind: "any" } as const,
  ordered: true,
  hasExtremes: true,
  ignoresCase: false,
});

/** The JSON structure of values of a {@link DatabaseType}. */
export type ValueShape =
  /** A string, as the database prints the value. */
  | { readonly kind: "text" }
  /** A number or a string, because the declared type is ambiguous (SQLite). */
  | { readonly kind: "any" }
  | {
    readonly kind: "list";
    readonly element: ColumnInfo;
    /** The character between elements when the database prints the list. */
    readonly delimiter: string;
    /** The declared number of dimensions, from which a stored value can differ. */
    readonly dimensions: number;
  }
  /** An object with these members, in this order. */
  | { readonly kind: "record"; readonly fields: readonly ColumnInfo[] }
  /** An object with arbitrary member names. Each member is a string or null. */
  | { readonly kind: "map" };

/** A column, from `table()` or from introspection. */
export interface ColumnInfo extends ValueRules {
  /** Name of the column in request bodies and rows. */
  readonly name: string;
  /** Name of the column in the database. */
  readonly dbName: string;
  /** The kind of the column, such as `text` or `integer`. */
  readonly kind: ColumnKind;
  /** True if the column is NOT NULL. */
  readonly notNull: boolean;
  /** True if the column belongs to the primary key. */
  readonly primaryKey: boolean;
  /** True if all rows must have different values in the column. */
  readonly unique: boolean;
  /** The default for new rows that do not set the column; null for none. */
  readonly default: ColumnDefault | null;
  /** True if the database computes the column, so that requests cannot write it. */
  readonly generated: boolean;
  /** The SQL expression of a generated column; null if unknown, and for other columns. */
  readonly generatedSql: string | null;
  /** When the service itself sets the column to the current time; null for never. */
  readonly writeTimestamp: "created" | "updated" | null;
  /** Returns the value for updates that do not set the column, from Drizzle's `$onUpdate`. */
  readonly onUpdate?: () => unknown;
  /** True if only Drizzle converts stored values. By default, clients cannot access the column. */
  readonly converted?: true;
  /** The former name in the database, for migrations; null for none. */
  readonly formerName: string | null;
  /** The column that this column references by a foreign key of one column; null for none. */
  readonly references: ColumnReference | null;
  /** The declared type in an existing table, e.g. `inet`. Null in a table of the service. */
  readonly existingType: string | null;
  /** The type in an existing table, if no kind corresponds to it. */
  readonly databaseType?: DatabaseType;
  /** True if the collation can equate different strings, which filters and keys distinguish. */
  readonly looseCollation: boolean;
  /** True if a foreign key references a table unknown to the service. SQLite may reject writes. */
  readonly unknownTarget: boolean;
  /**
   * True if values can be strings in the safe form of JSON (`safeValue`, `safeKey`): in integer
   * columns whose type exceeds 2^53, and in `any` columns that belong to a key or reference a key.
   */
  readonly isWide: boolean;
  /** The format of timestamps in a database without a type for them. */
  readonly timestampFormat: TimestampFormat;
  /** True if the column may be an expression of a view: its value can change without a write. */
  readonly varies: boolean;
  /** The database function that computes the column from the row; absent for a stored column. */
  readonly rowFunction?: {
    readonly schema: string;
    readonly name: string;
    /** True if the function runs with the rights of its owner (SECURITY DEFINER). */
    readonly isDefiner: boolean;
  };
  /** The comment on the column in the database; null for none. */
  readonly description: string | null;
}

export const plainColumn: Omit<ColumnInfo, "name" | "dbName" | "kind"> = Object.freeze({
  ...unrestrictedRules,
  notNull: false,
  primaryKey: false,
  unique: false,
  default: null,
  generated: false,
  generatedSql: null,
  writeTimestamp: null,
  formerName: null,
  references: null,
  existingType: null,
  looseCollation: false,
  unknownTarget: false,
  isWide: false,
  timestampFormat: serviceTimestampFormat,
  varies: false,
  description: null,
});

/** A foreign key of one or more columns. All names are those in the database. */
export interface ForeignKey extends ForeignKeyActions {
  /** The referencing columns. */
  readonly columns: readonly string[];
  /** The schema of the referenced table; null for the default schema. */
  readonly schema: string | null;
  /** The referenced table. */
  readonly table: string;
  /** The referenced columns, in the order of `columns`. */
  readonly references: readonly string[];
}

export function refersTo(
  key: Pick<ForeignKey, "schema" | "table">,
  table: Pick<TableInfo, "schema" | "name">,
): boolean {
  return key.table === table.name && key.schema === table.schema;
}

/** Returns true if new rows need a value of the column: if it is NOT NULL, or part of the key. */
export function isRequired(column: ColumnInfo): boolean {
  return column.notNull || column.primaryKey;
}

/** A table, from `table()` or introspection, in the same form for all engines. */
export interface TableInfo {
  /** Name of the table in the database. */
  readonly name: string;
  /** The Postgres schema; null for the default schema. */
  readonly schema: string | null;
  /** Name in paths: the database name, or `schema.table` outside the first introspected schema. */
  readonly label: string;
  /** The comment on the table in the database; null for none. */
  readonly description: string | null;
  /** The columns in the order of their declaration. */
  readonly columns: readonly ColumnInfo[];
  /** The columns that database functions compute from a row, if a request names the columns. */
  readonly functionColumns: readonly ColumnInfo[];
  /** All columns by name, in a Map because objects inherit names such as `constructor`. */
  readonly byName: ReadonlyMap<string, ColumnInfo>;
  /** The columns of the primary key, in key order; empty without a key. */
  readonly primaryKey: readonly ColumnInfo[];
  /** True if all rows have different keys. No database enforces the declared key of a view. */
  readonly distinct: boolean;
  /** True for tables without a key, and for views that accept no writes. */
  readonly readOnly: boolean;
  /** The writes that a view accepts; null for a table. */
  readonly view: ViewInfo | null;
  /** True if a database function returns the rows. Only a sort parameter changes their order. */
  readonly keepsOrder?: true;
  /** True if the change log can record row changes: for tables with a key, but not for views. */
  readonly recordable: boolean;
  /** The foreign keys, each of one or more columns. */
  readonly foreignKeys: readonly ForeignKey[];
  /** The indexes except those of the key and `uniques`. Introspection reads only unique indexes. */
  readonly indexes: readonly IndexInfo[];
  /** The sets of columns (database names) that must be unique together, except the primary key. */
  readonly uniques: readonly (readonly string[])[];
  /** The CHECK constraints, in addition to the rules of single columns. */
  readonly checks: readonly CheckInfo[];
  /** The former name in the database, for migrations; null for none. */
  readonly formerName: string | null;
  /** True if the service creates the table, and so determines the collations of its columns. */
  readonly own: boolean;
  /** True if `table()` or Drizzle has declared the table; false after introspection. */
  readonly declared: boolean;
  /** The only engine for which the table is declared; null if it is for all. */
  readonly engine: string | null;
  /** Reads enum labels again. Resolves to true if any has changed. Null without enum columns. */
  readonly refreshLabels: (() => Promise<boolean>) | null;
}

/** A row in JavaScript: the values of its columns by name, including hidden columns. */
export type Row = Readonly<Record<string, unknown>>;

export interface DeclaredTableParts
  extends
    Pick<TableInfo, "name" | "schema" | "columns" | "foreignKeys" | "own">,
    Partial<
      Pick<
        TableInfo,
        | ("description" | "indexes" | "uniques" | "checks" | "formerName" | "refreshLabels")
        | "functionColumns"
      >
    > {
  /** The name in paths. Default: the database name. */
  readonly label?: string;
  /** The columns of the primary key, in key order. Default: the order in `columns`. */
  readonly primaryKey?: readonly ColumnInfo[];
  /** True if a program has declared the table. Default: the value of `own`. */
  readonly declared?: boolean;
  readonly engine?: string;
  /** True to forbid writes, which a table without a key and a read-only view always forbid. */
  readonly readOnly?: boolean;
  readonly view?: ViewInfo | null;
  readonly distinct?: boolean;
}

export function createTableInfo(declared: DeclaredTableParts): TableInfo {
  const { name, schema, columns, own, view = null, distinct = true } = declared;
  const { functionColumns = [] } = declared;
  const acceptsWrites = view === null || view.insert || view.update || view.delete;
  const primaryKey = declared.primaryKey ?? columns.filter((column) => column.primaryKey);
  return Object.freeze({
    name,
    schema,
    label: declared.label ?? name,
    description: declared.description ?? null,
    columns: Object.freeze(columns),
    functionColumns,
    byName: new Map([...columns, ...functionColumns].map((column) => [column.name, column])),
    primaryKey: Object.freeze(primaryKey),
    distinct: distinct && primaryKey.length > 0,
    readOnly: declared.readOnly === true || !acceptsWrites || primaryKey.length === 0,
    view,
    recordable: declared.readOnly !== true && view === null && primaryKey.length > 0,
    // Computed at the first access, because the referenced table can be declared later.
    get foreignKeys() {
      return declared.foreignKeys;
    },
    get indexes() {
      return declared.indexes ?? [];
    },
    get uniques() {
      return declared.uniques ?? [];
    },
    get checks() {
      return declared.checks ?? [];
    },
    get formerName() {
      return declared.formerName ?? null;
    },
    own,
    declared: declared.declared ?? own,
    engine: declared.engine ?? null,
    refreshLabels: declared.refreshLabels ?? null,
  });
}
