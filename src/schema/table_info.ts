import { anyValue, type ColumnKind, type ValueRules } from "./kind.ts";
import type { CheckInfo, ForeignKeyActions, IndexInfo } from "./table_constraints.ts";

/** The source of an omitted value in a column's description. */
export type ColumnDefault =
  | { readonly kind: "value"; readonly value: unknown }
  | { readonly kind: "function"; readonly make: () => unknown }
  /**
   * The database supplies it: a DEFAULT clause in SQL, or an identity column. `sql` is the clause,
   * or null if it cannot be repeated.
   */
  | { readonly kind: "database"; readonly sql: string | null };

/**
 * The format of timestamps of a column in an existing SQLite table. Tables that the service creates
 * use {@link ownTimestamps}. The format is detected once from the stored rows, and then used for
 * reading, binding and writing.
 *
 * The strings are in UTC. `.fff` is three digits, or six if the microseconds need them. `[.fff]` is
 * omitted if it is zero. `[.ffffff]` is six digits or none.
 */
export type TimestampFormat =
  | "epoch-seconds"
  | "epoch-milliseconds"
  | `date${"T" | " "}time${".ffffff" | ".fff" | "[.fff]" | "[.ffffff]"}${"" | "Z" | "+00:00"}`;

/** The timestamp formats of a column that are strings. */
export type TimestampText = Exclude<TimestampFormat, `epoch-${string}`>;

/**
 * The timestamp format in tables that the service creates. Its width is fixed, so that strings sort
 * by time.
 */
export const ownTimestamps: TimestampText = "dateTtime.ffffffZ";

/**
 * A type of the database that no kind represents, such as `inet`, an enum or an array. The column's
 * kind determines the JSON of its values; only the database can compare them.
 */
export interface DatabaseType {
  /** The target type of casts: quoted, with its schema, without numbers. A domain's base type. */
  readonly sqlName: string;
  /** The form of its values in JSON. */
  readonly shape: ValueShape;
  /**
   * True if its values have an order. Strings of other types have equality only; structures of
   * other types have null tests only.
   */
  readonly ordered: boolean;
  /** True if the database has min() and max() for the type. */
  readonly hasExtremes: boolean;
  /** True if strings that differ only in case are equal. */
  readonly ignoresCase: boolean;
}

/** The type of a SQLite column that may contain numbers and strings. */
export const anyType: DatabaseType = Object.freeze({
  sqlName: "any",
  shape: { kind: "any" } as const,
  ordered: true,
  hasExtremes: true,
  ignoresCase: false,
});

/** The JSON form of the values of a {@link DatabaseType}. */
export type ValueShape =
  /** A string, as the database prints it. */
  | { readonly kind: "text" }
  /** A number or a string, as SQLite stores it: the declared type of the column is ambiguous. */
  | { readonly kind: "any" }
  /** A list of elements, or of lists of elements if there are several dimensions. */
  | {
    readonly kind: "list";
    readonly element: ColumnInfo;
    /** The delimiter of the elements in the string of the database. */
    readonly delimiter: string;
    /** The declared number of dimensions; a value may have another number. */
    readonly dimensions: number;
  }
  /** An object with these members in order. */
  | { readonly kind: "record"; readonly fields: readonly ColumnInfo[] }
  /** An object with any names, whose values are strings or null. */
  | { readonly kind: "map" };

/** The description of a column, declared with `table()` or introspected. */
export interface ColumnInfo extends ValueRules {
  /** The name in request bodies and rows. */
  readonly name: string;
  /** The name in the database. */
  readonly dbName: string;
  /** The kind of its values. */
  readonly kind: ColumnKind;
  /** True if every row has a value. */
  readonly notNull: boolean;
  /** True if the column belongs to the primary key. */
  readonly primaryKey: boolean;
  /** True if no two rows share a value. */
  readonly unique: boolean;
  /** The default of an omitted value. */
  readonly default: ColumnDefault | null;
  /** True if the database computes the value, which cannot be written. */
  readonly generated: boolean;
  /** The expression of a generated column; null if unknown. */
  readonly generatedSql: string | null;
  /** The event that sets the timestamp: creation, or every update. Bodies cannot set it. */
  readonly writeTimestamp: "created" | "updated" | null;
  /** Returns the value for an update that sets none, if the table of another library defines it. */
  readonly onUpdate?: () => unknown;
  /** The former name in the database, for migrations. */
  readonly formerName: string | null;
  /** The referenced column of a single-column foreign key. */
  readonly references: ColumnReference | null;
  /**
   * The declared type of a column that the service did not create, e.g. `NVARCHAR(160)` or `inet`;
   * null for tables of the service, whose types follow from the kind.
   */
  readonly existingType: string | null;
  /** The type of an existing column that no kind represents. */
  readonly databaseType?: DatabaseType;
  /**
   * True if the collation of an existing column may treat different strings as equal: a
   * nondeterministic collation of Postgres, or a custom one of SQLite. Filters and keys distinguish
   * such strings nevertheless.
   */
  readonly looseCollation: boolean;
  /**
   * True if the foreign key of an existing column references a missing or undescribed table. SQLite
   * refuses writes that set it.
   */
  readonly unknownTarget: boolean;
  /**
   * For an integer column: true if its type contains numbers beyond 2^53, such as `bigint` of an
   * existing table. Programs with doubles then get all values as strings. For an `any` column: true
   * if it is a key or references one, so that programs get the form of paths.
   */
  readonly isWide: boolean;
  /** The format of a timestamp in a database without a timestamp type. */
  readonly timestampFormat: TimestampFormat;
  /** True for a possible expression of a view, whose value may vary without a write. */
  readonly varies: boolean;
}

/**
 * The description of a nullable column without restrictions, in a table that the service creates.
 */
export const plainColumn: Omit<ColumnInfo, "name" | "dbName" | "kind"> = Object.freeze({
  ...anyValue,
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
  timestampFormat: ownTimestamps,
  varies: false,
});

/** The column that a single-column foreign key references. */
export interface ColumnReference {
  /** The schema of the table, as in its description. */
  readonly schema: string | null;
  /** The table, by its name in the database. */
  readonly table: string;
  /** The column, by its name in the database. */
  readonly column: string;
}

/** A foreign key in a table's description, with one or more columns, in database names. */
export interface ForeignKey extends ForeignKeyActions {
  /** The referencing columns. */
  readonly columns: readonly string[];
  /** The schema of the referenced table, as in its description. */
  readonly schema: string | null;
  /** The referenced table. */
  readonly table: string;
  /** The referenced columns, in the order of `columns`. */
  readonly references: readonly string[];
}

/** Returns true if a foreign key refers to the table. */
export function refersTo(
  key: Pick<ForeignKey, "schema" | "table">,
  table: Pick<TableInfo, "schema" | "name">,
): boolean {
  return key.table === table.name && key.schema === table.schema;
}

/**
 * Returns true if a new row needs a value for the column. A key column of SQLite may contain NULL
 * in existing rows, and then is not `notNull`; but a new row without a key could never be
 * addressed.
 */
export function isRequired(column: ColumnInfo): boolean {
  return column.notNull || column.primaryKey;
}

/**
 * The description of a table, declared with `table()` or introspected, in one form for all engines.
 */
export interface TableInfo {
  /** The name in the database. */
  readonly name: string;
  /** The Postgres schema; null for the default schema. */
  readonly schema: string | null;
  /**
   * The name in paths and descriptions: the database name, or `schema.table` if several schemas
   * were introspected and this is not the first of them.
   */
  readonly label: string;
  /** The columns in declaration order. */
  readonly columns: readonly ColumnInfo[];
  /** The columns by name. In a Map, inherited names such as `constructor` are unknown. */
  readonly byName: ReadonlyMap<string, ColumnInfo>;
  /** The key in key order; empty if the rows cannot be distinguished and are read-only. */
  readonly primaryKey: readonly ColumnInfo[];
  /** True if no two rows share a key. The key that is named for a view is not enforced. */
  readonly distinct: boolean;
  /** True for the rows of a view, and of a table without a key. */
  readonly readOnly: boolean;
  /** The foreign keys, of one or more columns each. */
  readonly foreignKeys: readonly ForeignKey[];
  /** The indexes except those of the key and of `uniques`. */
  readonly indexes: readonly IndexInfo[];
  /**
   * Sets of columns, by database name, that no two rows share, in addition to single `unique`
   * columns and the key.
   */
  readonly uniques: readonly (readonly string[])[];
  /** Conditions that every row meets, in addition to the rules of single columns. */
  readonly checks: readonly CheckInfo[];
  /** The former name in the database, for migrations. */
  readonly formerName: string | null;
  /** True if the service creates the table. Existing tables keep their collations. */
  readonly own: boolean;
  /** True if `table()` or Drizzle declares the table; false if it was introspected. */
  readonly declared: boolean;
  /** The engine of the declaration; null if it applies to every engine. */
  readonly engine: string | null;
  /**
   * Reads the labels of the database's enums again into the columns. Resolves to true if any has
   * changed. Null if no column has such a type.
   */
  readonly refreshLabels: (() => Promise<boolean>) | null;
}

/**
 * An in-process row of a described table, by column name: values as in JSON responses, including
 * hidden columns.
 */
export type Row = Readonly<Record<string, unknown>>;

/** The parts of a table's description. */
export interface TableInfoOptions
  extends
    Pick<TableInfo, "name" | "schema" | "columns" | "foreignKeys" | "own">,
    Partial<Pick<TableInfo, "indexes" | "uniques" | "checks" | "formerName" | "refreshLabels">> {
  /** Name in paths. Default: the name in the database. */
  readonly label?: string;
  /** The key columns in key order, if it differs from the order of the columns. */
  readonly primaryKey?: readonly ColumnInfo[];
  /** True if a program declares the table. Default: the value of `own`. */
  readonly declared?: boolean;
  /** The engine of the declaration. Default: every engine. */
  readonly engine?: string;
  /** True for a view. Default: false. */
  readonly readOnly?: boolean;
  /** True if the key is unique. Default: true. */
  readonly distinct?: boolean;
}

/** Creates a table's description from its columns. */
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
    // Lazy, because `table()` cannot resolve them before the referenced table is declared.
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
