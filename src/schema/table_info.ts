import { type ColumnKind, unrestrictedRules, type ValueRules } from "./kind.ts";
import type { CheckInfo, ForeignKeyActions, IndexInfo } from "./table_constraints.ts";

/** The source of a value that a new row omits. */
export type ColumnDefault =
  | { readonly kind: "value"; readonly value: unknown }
  | { readonly kind: "function"; readonly make: () => unknown }
  /**
   * The database supplies the value, by a DEFAULT clause or as an identity column. `sql` is the
   * clause, or null if another table cannot use the clause.
   */
  | { readonly kind: "database"; readonly sql: string | null };

/**
 * The format of the timestamps in one column of an existing SQLite table. Tables that the service
 * creates use {@link serviceTimestampFormat}. The service detects the format once from stored rows, and then
 * reads, binds and writes values in this format.
 *
 * The strings are in UTC. `.fff` is three digits, or six if the microseconds need them. `[.fff]` is
 * omitted if it is zero. `[.ffffff]` is six digits or none.
 */
export type TimestampFormat =
  | "epoch-seconds"
  | "epoch-milliseconds"
  | `date${"T" | " "}time${".ffffff" | ".fff" | "[.fff]" | "[.ffffff]"}${"" | "Z" | "+00:00"}`;

/** The timestamp formats whose stored values are strings instead of numbers. */
export type TimestampText = Exclude<TimestampFormat, `epoch-${string}`>;

/** The timestamp format in the service's tables. The width is fixed, so strings sort by time. */
export const serviceTimestampFormat: TimestampText = "dateTtime.ffffffZ";

/**
 * A database type that no column kind represents, such as `inet`, an enum or an array. The column's
 * kind determines the JSON of the values. Only the database can compare the values.
 */
export interface DatabaseType {
  /** The quoted type name for casts, without a length. For a domain, its base type. */
  readonly sqlName: string;
  /** The JSON form of the type's values. */
  readonly shape: ValueShape;
  /**
   * True if the type's values have an order. If false, strings can only be tested for equality, and
   * structures only for NULL.
   */
  readonly ordered: boolean;
  /** True if the database supports min() and max() for the type. */
  readonly hasExtremes: boolean;
  /** True if the database treats strings as equal when they differ only in case. */
  readonly ignoresCase: boolean;
}

/** The type of a SQLite column that may contain both numbers and strings. */
export const anyType: DatabaseType = Object.freeze({
  sqlName: "any",
  shape: { kind: "any" } as const,
  ordered: true,
  hasExtremes: true,
  ignoresCase: false,
});

/** The JSON form of the values of a {@link DatabaseType}. */
export type ValueShape =
  /** The value is a string, as the database prints it. */
  | { readonly kind: "text" }
  /** The value is a number or a string, because the declared type in SQLite is ambiguous. */
  | { readonly kind: "any" }
  /** The value is a list of elements. With several dimensions, the elements are lists too. */
  | {
    readonly kind: "list";
    readonly element: ColumnInfo;
    /** The delimiter between elements when the database writes the list as a string. */
    readonly delimiter: string;
    /** The declared number of dimensions. A stored value may have a different number. */
    readonly dimensions: number;
  }
  /** The value is an object with these members, in this order. */
  | { readonly kind: "record"; readonly fields: readonly ColumnInfo[] }
  /** The value is an object with arbitrary names. Its members are strings or null. */
  | { readonly kind: "map" };

/** The description of a column, from `table()` or from introspection. */
export interface ColumnInfo extends ValueRules {
  /** Name of the column in request bodies and rows. */
  readonly name: string;
  /** Name of the column in the database. */
  readonly dbName: string;
  /** Kind of the column's values, such as `text` or `integer`. */
  readonly kind: ColumnKind;
  /** True if the column is NOT NULL. */
  readonly notNull: boolean;
  /** True if the column belongs to the primary key. */
  readonly primaryKey: boolean;
  /** True if no two rows may have equal values in the column. */
  readonly unique: boolean;
  /** The value for new rows that omit the column, or null if the column has no default. */
  readonly default: ColumnDefault | null;
  /** True if the database computes the column. Requests cannot write such a column. */
  readonly generated: boolean;
  /** The SQL expression of a generated column, or null for other columns and if it is unknown. */
  readonly generatedSql: string | null;
  /** The event at which only the service sets the column, to the current time. Null for never. */
  readonly writeTimestamp: "created" | "updated" | null;
  /** Returns the column's value for updates that do not set it, as Drizzle's `$onUpdate` does. */
  readonly onUpdate?: () => unknown;
  /** The former name of the column in the database, for migrations, or null if there is none. */
  readonly formerName: string | null;
  /** The column that a single-column foreign key references, or null without such a foreign key. */
  readonly references: ColumnReference | null;
  /**
   * The declared type of a column that the service did not create, e.g. `NVARCHAR(160)` or `inet`.
   * It is null for tables of the service, whose types follow from the kind.
   */
  readonly existingType: string | null;
  /** The database type of an existing column, if no column kind represents that type. */
  readonly databaseType?: DatabaseType;
  /**
   * True if the collation of an existing column may treat different strings as equal. Examples are
   * a nondeterministic collation of Postgres and a custom collation of SQLite. Filters and keys
   * distinguish such strings nevertheless.
   */
  readonly looseCollation: boolean;
  /**
   * True if the foreign key of an existing column references a missing or undescribed table. SQLite
   * refuses writes that set such a column.
   */
  readonly unknownTarget: boolean;
  /**
   * For an integer column, true if its type allows numbers beyond 2^53, such as `bigint` of an
   * existing table. Clients with doubles then receive strings. For an `any` column, true if it is a
   * key or references a key. Clients then receive the string that a path contains.
   */
  readonly isWide: boolean;
  /** The format of the column's timestamps in a database without a timestamp type. */
  readonly timestampFormat: TimestampFormat;
  /** True if the column may be an expression of a view, whose value can change without a write. */
  readonly varies: boolean;
}

/** The description of a nullable column without constraints, in a table of the service. */
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
});

/** The column that a single-column foreign key references. */
export interface ColumnReference {
  /** The schema of the referenced table, or null for the default schema. */
  readonly schema: string | null;
  /** The database name of the referenced table. */
  readonly table: string;
  /** The database name of the referenced column. */
  readonly column: string;
}

/** A foreign key in a table's description, with the database names of one or more columns. */
export interface ForeignKey extends ForeignKeyActions {
  /** The referencing columns. */
  readonly columns: readonly string[];
  /** The schema of the referenced table, or null for the default schema. */
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

/**
 * Returns true if a new row needs a value for the column. Existing SQLite rows may have NULL in a
 * key column, which then is not `notNull`. A new row needs the key nevertheless, because no request
 * could address a row without a key.
 */
export function isRequired(column: ColumnInfo): boolean {
  return column.notNull || column.primaryKey;
}

/** The description of a table, from `table()` or introspection, in one form for all engines. */
export interface TableInfo {
  /** Name of the table in the database. */
  readonly name: string;
  /** The Postgres schema; null for the default schema. */
  readonly schema: string | null;
  /**
   * Name of the table in paths and descriptions. It is `schema.table` for a table outside the first
   * of several introspected schemas, and the database name otherwise.
   */
  readonly label: string;
  /** The columns in declaration order. */
  readonly columns: readonly ColumnInfo[];
  /** The columns by name. Unlike an object, a Map has no inherited names such as `constructor`. */
  readonly byName: ReadonlyMap<string, ColumnInfo>;
  /** The columns of the primary key, in key order. Empty for a table without a key. */
  readonly primaryKey: readonly ColumnInfo[];
  /** True if no two rows share a key. No database enforces the declared key of a view. */
  readonly distinct: boolean;
  /** True for a view, and for a table without a key. Requests cannot write rows of such a table. */
  readonly readOnly: boolean;
  /** The foreign keys, of one or more columns each. */
  readonly foreignKeys: readonly ForeignKey[];
  /** The indexes of the table, except the indexes of the key and of `uniques`. */
  readonly indexes: readonly IndexInfo[];
  /** Sets of columns that must be unique together, by database name, except for the primary key. */
  readonly uniques: readonly (readonly string[])[];
  /** The check constraints of the table, in addition to the rules of single columns. */
  readonly checks: readonly CheckInfo[];
  /** The former name of the table in the database, for migrations, or null if there is none. */
  readonly formerName: string | null;
  /** True if the service creates the table. Such a table has the collations of the service. */
  readonly own: boolean;
  /** True if `table()` or Drizzle declares the table, and false if it was introspected. */
  readonly declared: boolean;
  /** The engine for which the table is declared, or null if it works on every engine. */
  readonly engine: string | null;
  /**
   * Reads the labels of the columns' enum types from the database again, and resolves to true if
   * any label changed. Null if no column has an enum type.
   */
  readonly refreshLabels: (() => Promise<boolean>) | null;
}

/** An in-process row of a table, by column name: the values of responses and of hidden columns. */
export type Row = Readonly<Record<string, unknown>>;

export interface TableInfoOptions
  extends
    Pick<TableInfo, "name" | "schema" | "columns" | "foreignKeys" | "own">,
    Partial<Pick<TableInfo, "indexes" | "uniques" | "checks" | "formerName" | "refreshLabels">> {
  /** Name of the table in paths. Default: the name in the database. */
  readonly label?: string;
  /** The columns of the primary key in key order. Default: the order of the columns. */
  readonly primaryKey?: readonly ColumnInfo[];
  /** True if a program declares the table. Default: the value of `own`. */
  readonly declared?: boolean;
  /** The engine for which the table is declared. Default: every engine. */
  readonly engine?: string;
  /** True if the table is a view. Default: false. */
  readonly readOnly?: boolean;
  /** True if no two rows share a key. Default: true. */
  readonly distinct?: boolean;
}

export function createTableInfo(declared: TableInfoOptions): TableInfo {
  const { name, schema, columns, own, readOnly = false, distinct = true } = declared;
  const primaryKey = declared.primaryKey ?? columns.filter((column) => column.primaryKey);
  return Object.freeze({
    name,
    schema,
    label: declared.label ?? name,
    columns: Object.freeze(columns),
    byName: new Map(columns.map((column) => [column.name, column])),
    primaryKey: Object.freeze(primaryKey),
    distinct: distinct && primaryKey.length > 0,
    readOnly: readOnly || primaryKey.length === 0,
    // The getter is lazy, because the referenced table may be declared later.
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
