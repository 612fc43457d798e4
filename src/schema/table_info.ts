import { anyValue, type ColumnKind, type ValueRules } from "./kind.ts";
import type { CheckInfo, ForeignKeyActions, IndexInfo } from "./table_constraints.ts";

/** In a column's description: the source of an omitted value. */
export type ColumnDefault =
  | { readonly kind: "value"; readonly value: unknown }
  | { readonly kind: "function"; readonly make: () => unknown }
  /**
   * The database supplies it: a DEFAULT clause in SQL, an identity column. `sql` is the clause, null
   * where there is none that could be repeated.
   */
  | { readonly kind: "database"; readonly sql: string | null };

/**
 * In a column's description: the format of timestamps in an existing SQLite table; tables that the
 * service creates use {@link ownTimestamps}. It is detected once from the stored rows, then used
 * for reading, binding and writing.
 *
 * The strings are in UTC. `.fff` are three digits, or six where the microseconds need them; `[.fff]`
 * is the same, omitted where it is zero; `[.ffffff]` are six digits or none.
 */
export type TimestampFormat =
  | "epoch-seconds"
  | "epoch-milliseconds"
  | `date${"T" | " "}time${".ffffff" | ".fff" | "[.fff]" | "[.ffffff]"}${"" | "Z" | "+00:00"}`;

/** In a column's description: the formats of timestamps that are strings. */
export type TimestampText = Exclude<TimestampFormat, `epoch-${string}`>;

/**
 * In a column's description: the format of timestamps in tables that the service creates, of fixed
 * width, so that it sorts as text.
 */
export const ownTimestamps: TimestampText = "dateTtime.ffffffZ";

/**
 * In a column's description: a type of the database that no kind stands for, such as `inet`, an enum
 * or an array. The column's kind says which JSON its values are; the database alone knows how they
 * compare.
 */
export interface DatabaseType {
  /**
   * What a string is cast to: quoted, with its schema and without numbers, of a domain its base type.
   */
  readonly sqlName: string;
  /** The form of its values in JSON. */
  readonly shape: ValueShape;
  /**
   * True if its values have an order. Strings of other types are compared as strings, for equality alone;
   * structures of other types have tests for NULL only.
   */
  readonly ordered: boolean;
  /** True if the database has min() and max() for it. */
  readonly hasExtremes: boolean;
  /** True if strings that differ in case alone are equal. */
  readonly ignoresCase: boolean;
}

/** In a column's description: the type of a SQLite column that may hold numbers and strings. */
export const anyType: DatabaseType = Object.freeze({
  sqlName: "any",
  shape: { kind: "any" } as const,
  ordered: true,
  hasExtremes: true,
  ignoresCase: false,
});

/** In a column's description: what the values of a {@link DatabaseType} are in JSON. */
export type ValueShape =
  /** A string, as the database prints it. */
  | { readonly kind: "text" }
  /** A number or a string, as SQLite keeps it: the declared type of the column says nothing certain. */
  | { readonly kind: "any" }
  /** A list of values of the element, and of lists of them where it has several dimensions. */
  | {
    readonly kind: "list";
    readonly element: ColumnInfo;
    /** The delimiter of the elements in the string of the database. */
    readonly delimiter: string;
    /** As many as the column was declared with; a value may have others. */
    readonly dimensions: number;
  }
  /** An object with these members, in their order. */
  | { readonly kind: "record"; readonly fields: readonly ColumnInfo[] }
  /** An object with strings, or null, under any names. */
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
  /** True if it belongs to the primary key. */
  readonly primaryKey: boolean;
  /** True if no two rows share a value. */
  readonly unique: boolean;
  /** The default of an omitted value. */
  readonly default: ColumnDefault | null;
  /** Computed by the database; may be read, never written. */
  readonly generated: boolean;
  /** The expression of a generated column, where it is known. */
  readonly generatedSql: string | null;
  /**
   * Which moment of its row the service fills in, when it is created or at every update; never taken
   * from a body.
   */
  readonly moment: "created" | "updated" | null;
  /** Makes the value of an update that sets none, where the table of another library says how. */
  readonly onUpdate?: () => unknown;
  /** The name that it had in the database before, for migrations. */
  readonly formerName: string | null;
  /** The column that a foreign key of this column alone references. */
  readonly references: ColumnReference | null;
  /**
   * The declared type of a column that the service did not create, e.g. `NVARCHAR(160)` or `inet`;
   * null for tables that it creates, whose types follow from the kind.
   */
  readonly existingType: string | null;
  /** Of an existing column: its type, where no kind stands for it. */
  readonly databaseType?: DatabaseType;
  /**
   * True if the collation of an existing column treats different strings as equal, as a
   * nondeterministic one of Postgres does, or is one of SQLite that only another program has. Filters
   * and keys distinguish them all the same.
   */
  readonly looseCollation: boolean;
  /**
   * True if an existing column is of a foreign key to a table that is missing, or that is not
   * described. SQLite takes no write that sets it.
   */
  readonly unknownTarget: boolean;
  /**
   * Of an integer column: whether its type is for numbers beyond 2^53, as `bigint` of an existing
   * table is, so that programs whose numbers are doubles get all of its values as strings. Of a
   * column of any values: whether it is a key, or references one, so that they get what paths have.
   */
  readonly isWide: boolean;
  /** Of a timestamp: its format in a database without such a type. */
  readonly timestampFormat: TimestampFormat;
  /**
   * True if it may be an expression of a view, whose value may differ between two statements though
   * nothing was written.
   */
  readonly varies: boolean;
}

/** The description of a nullable column that nothing restricts, of a table that the service creates. */
export const plainColumn: Omit<ColumnInfo, "name" | "dbName" | "kind"> = Object.freeze({
  ...anyValue,
  notNull: false,
  primaryKey: false,
  unique: false,
  default: null,
  generated: false,
  generatedSql: null,
  moment: null,
  formerName: null,
  references: null,
  existingType: null,
  looseCollation: false,
  unknownTarget: false,
  isWide: false,
  timestampFormat: ownTimestamps,
  varies: false,
});

/** In a column's description: the column that a one-column foreign key references. */
export interface ColumnReference {
  /** The schema of the table, as in its description. */
  readonly schema: string | null;
  /** The table, by its name in the database. */
  readonly table: string;
  /** The column, by its name in the database. */
  readonly column: string;
}

/** In a table's description: a foreign key of one or more columns, in database names. */
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
 * Returns true if a new row needs a value, by the description of the column. A key column of SQLite may
 * hold NULL in existing rows, and then is not `notNull`; but a new row without a key could never be
 * addressed.
 */
export function isRequired(column: ColumnInfo): boolean {
  return column.notNull || column.primaryKey;
}

/**
 * The description of a table, declared with `table()` or introspected, the same for all engines.
 */
export interface TableInfo {
  /** The name in the database. */
  readonly name: string;
  /** The Postgres schema, or null for the default one. */
  readonly schema: string | null;
  /**
   * Its name in paths and descriptions: that in the database, or `schema.table` where introspection
   * has described several schemas and this is not the first of them.
   */
  readonly label: string;
  /** In declaration order. */
  readonly columns: readonly ColumnInfo[];
  /** By name. A Map, so that inherited names such as `constructor` are unknown. */
  readonly byName: ReadonlyMap<string, ColumnInfo>;
  /** In key order; empty where nothing is known to distinguish the rows, which are only read. */
  readonly primaryKey: readonly ColumnInfo[];
  /** True if no two rows share a key: one that was named for a view is not enforced by anything. */
  readonly distinct: boolean;
  /** True if rows are only read: those of a view, and of a table without a key. */
  readonly readOnly: boolean;
  /** The foreign keys, of one or more columns each. */
  readonly foreignKeys: readonly ForeignKey[];
  /** The indexes besides those of the key and of `uniques`. */
  readonly indexes: readonly IndexInfo[];
  /**
   * Sets of columns, by their names in the database, that no two rows share, beside single `unique`
   * columns and the key.
   */
  readonly uniques: readonly (readonly string[])[];
  /** The conditions that every row fulfils, besides the rules of single columns. */
  readonly checks: readonly CheckInfo[];
  /** The name that it had in the database before, for migrations. */
  readonly formerName: string | null;
  /** True if the service creates it. False for existing tables, which keep their collations. */
  readonly own: boolean;
  /** True if a program declares it, by `table()` or by Drizzle; else introspection has found it. */
  readonly declared: boolean;
  /** The engine that its declaration is for; null for one that means the same on each. */
  readonly engine: string | null;
  /**
   * Reads the labels of the database's enums again, into the columns; gives whether any is another
   * one. Null if no column has such a type.
   */
  readonly refreshLabels: (() => Promise<boolean>) | null;
}

/**
 * A row in process of a described table, by column name: values as in JSON responses, hidden
 * columns included.
 */
export type Row = Readonly<Record<string, unknown>>;

/** The parts of a table's description. */
export interface TableInfoOptions
  extends
    Pick<TableInfo, "name" | "schema" | "columns" | "foreignKeys" | "own">,
    Partial<Pick<TableInfo, "indexes" | "uniques" | "checks" | "formerName" | "refreshLabels">> {
  /** Its name in paths; the name in the database unless set. */
  readonly label?: string;
  /** The key columns in key order, where that differs from the order of the columns. */
  readonly primaryKey?: readonly ColumnInfo[];
  /** True if a program declares it; as `own` unless set. */
  readonly declared?: boolean;
  /** The engine that its declaration is for; null unless set. */
  readonly engine?: string;
  /** True if it is a view; false unless set. */
  readonly readOnly?: boolean;
  /** True if its key is unique; true unless set. */
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
    // Lazy: `table()` cannot resolve them before the referenced table is declared.
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
