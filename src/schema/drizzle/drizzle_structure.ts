/**
 * A table of Drizzle as this package reads it: by the symbols and members that both of its release
 * lines share, so that nothing here depends on the library.
 */
export interface DrizzleTable {
  /** The name in the database, or the name of an alias. */
  readonly [nameKey]: string;
  /** The schema of Postgres; undefined for the default schema. */
  readonly [schemaKey]: string | undefined;
  /** The columns by property. */
  readonly [columnsKey]: Readonly<Record<string, DrizzleColumn>>;
  /** The columns as the third argument of the table receives them. */
  readonly [extraColumnsKey]?: Readonly<Record<string, DrizzleColumn>>;
  /** The third argument of the table. */
  readonly [extraConfigKey]?: ((columns: unknown) => unknown) | undefined;
  /** True if the table is an alias in a query. */
  readonly [aliasKey]?: boolean;
  /** Returns the database names of columns without explicit names, if the program set them. */
  readonly [casingKey]?: (property: string) => string;
  readonly [sqliteForeignKeysKey]?: readonly InlineForeignKey[];
  readonly [postgresForeignKeysKey]?: readonly InlineForeignKey[];
}

/** A column of a {@link DrizzleTable}. */
export interface DrizzleColumn {
  /** The name in the database. */
  readonly name: string;
  /** True if the name is that of the property, which the older line may still convert. */
  readonly keyAsName?: boolean;
  /** The table of the column. */
  readonly table: DrizzleTable;
  /** Class of the column: identical in both lines, unlike `dataType`. */
  readonly columnType: string;
  /** The unit in which SQLite stores a timestamp. */
  readonly mode?: string;
  readonly notNull: boolean;
  readonly primary: boolean;
  readonly isUnique?: boolean;
  readonly hasDefault: boolean;
  /** A constant, or a piece of SQL. */
  readonly default?: unknown;
  readonly defaultFn?: (() => unknown) | undefined;
  readonly onUpdateFn?: (() => unknown) | undefined;
  readonly enumValues?: readonly string[] | undefined;
  readonly generated?: { readonly as: unknown } | undefined;
  readonly generatedIdentity?: { readonly type: string } | undefined;
  /** The column of an array's elements, in the older line. */
  readonly baseColumn?: DrizzleColumn;
  /** Exists only in the newer line. */
  readonly isAlias?: boolean;
  /** Number of dimensions of an array, in the newer line. */
  readonly dimensions?: number;
  /** Name of a Postgres enum. */
  readonly enum?: { readonly enumName: string; readonly schema?: string | undefined };
  readonly config?: {
    /** The conversions of a custom type. */
    readonly customTypeParams?: { readonly toDriver?: unknown; readonly fromDriver?: unknown };
  };
  getSQLType(): string;
  mapToDriverValue(value: unknown): unknown;
}

/** The key of a Drizzle table's column names. This package defines it, not Drizzle. */
export const casingKey: unique symbol = Symbol.for("@svc/resource-api:casing");
/** The key of a Drizzle table's name. */
export const nameKey: unique symbol = Symbol.for("drizzle:Name");
/** The key of a Drizzle table's schema. */
export const schemaKey: unique symbol = Symbol.for("drizzle:Schema");
/** The key of a Drizzle table's columns. */
export const columnsKey: unique symbol = Symbol.for("drizzle:Columns");
/** The key of the columns for a Drizzle table's third argument. */
export const extraColumnsKey: unique symbol = Symbol.for("drizzle:ExtraConfigColumns");
/** The key of a Drizzle table's third argument. */
export const extraConfigKey: unique symbol = Symbol.for("drizzle:ExtraConfigBuilder");
/** The key under which a Drizzle table is marked as an alias. */
export const aliasKey: unique symbol = Symbol.for("drizzle:IsAlias");
const tableKey: unique symbol = Symbol.for("drizzle:IsDrizzleTable");
/** The key of the columns' foreign keys in a Drizzle table for SQLite. */
export const sqliteForeignKeysKey: unique symbol = Symbol.for("drizzle:SQLiteInlineForeignKeys");
/** The key of the columns' foreign keys in a Drizzle table for Postgres. */
export const postgresForeignKeysKey: unique symbol = Symbol.for("drizzle:PgInlineForeignKeys");
const entityKindKey: unique symbol = Symbol.for("drizzle:entityKind");

export function isDrizzleTable(value: object): value is DrizzleTable {
  return tableKey in value && columnsKey in value && nameKey in value;
}

/** Returns the name of a column in the database. */
export function dbNameOf(
  { name, keyAsName }: Pick<DrizzleColumn, "name" | "keyAsName">,
  table: DrizzleTable,
): string {
  return keyAsName === true ? table[casingKey]?.(name) ?? name : name;
}

/** A foreign key that a column of Drizzle declares by `references()`. */
export interface InlineForeignKey {
  /** Calls the function that returns the other column. */
  reference(): {
    readonly columns: readonly DrizzleColumn[];
    readonly foreignColumns: readonly DrizzleColumn[];
  };
  readonly onDelete?: string | undefined;
  readonly onUpdate?: string | undefined;
}

/** Returns true if a value is a column of a Drizzle table. */
export function isDrizzleColumn(value: object): value is DrizzleColumn {
  return "columnType" in value && "getSQLType" in value && "table" in value &&
    typeof value.table === "object" && value.table !== null && isDrizzleTable(value.table);
}

/**
 * Returns the name that Drizzle assigns to the class of a value, such as `SQLitePrimaryKeyBuilder`.
 * Drizzle uses it to recognize values across copies of the library. Null for other values.
 */
export function entityKindOf(value: unknown): string | null {
  if (typeof value !== "object" || value === null) return null;
  const { constructor } = value;
  // A class has its own name there, which hides the name of its superclass.
  const kind: unknown = Reflect.get(constructor ?? value, entityKindKey);
  return typeof kind === "string" ? kind : null;
}

/** The reason why a column cannot be served. It completes "Cannot serve notes.scan: …". */
export class UnservableColumn extends Error {
  /** `reason` begins with the kind of the column. */
  constructor(reason: string) {
    super(reason);
    this.name = "UnservableColumn";
  }
}
