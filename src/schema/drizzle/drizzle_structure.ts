/**
 * The members of a Drizzle table that this package reads. Both release lines of Drizzle have these
 * symbols and members, so nothing here imports Drizzle.
 */
export interface DrizzleTable {
  /** Name of the table in the database, or the alias of the table in a query. */
  readonly [nameKey]: string;
  /** The Postgres schema of the table; undefined for the default schema. */
  readonly [schemaKey]: string | undefined;
  /** The columns of the table, by property name. */
  readonly [columnsKey]: Readonly<Record<string, DrizzleColumn>>;
  /** The column objects that Drizzle passes to the function in a table's third argument. */
  readonly [extraColumnsKey]?: Readonly<Record<string, DrizzleColumn>>;
  /** The function in the third argument of the table declaration. */
  readonly [extraConfigKey]?: ((columns: unknown) => unknown) | undefined;
  readonly [aliasKey]?: boolean;
  /** Converts a property name to a database name for columns without an explicit name. */
  readonly [casingKey]?: (property: string) => string;
  readonly [sqliteForeignKeysKey]?: readonly InlineForeignKey[];
  readonly [postgresForeignKeysKey]?: readonly InlineForeignKey[];
}

export interface DrizzleColumn {
  /** Name of the column in the database. */
  readonly name: string;
  /** True if the name is the property's name, which Drizzle's older release line may convert. */
  readonly keyAsName?: boolean;
  readonly table: DrizzleTable;
  /** Name of the column's class. It is the same in both release lines, unlike `dataType`. */
  readonly columnType: string;
  /** The unit of a timestamp that SQLite stores as a number. */
  readonly mode?: string;
  readonly notNull: boolean;
  readonly primary: boolean;
  readonly isUnique?: boolean;
  readonly hasDefault: boolean;
  /** The default of the column: a constant, or a piece of SQL. */
  readonly default?: unknown;
  readonly defaultFn?: (() => unknown) | undefined;
  readonly onUpdateFn?: (() => unknown) | undefined;
  readonly enumValues?: readonly string[] | undefined;
  readonly generated?: { readonly as: unknown } | undefined;
  readonly generatedIdentity?: { readonly type: string } | undefined;
  /** A column that describes the elements of an array, in Drizzle's older release line. */
  readonly baseColumn?: DrizzleColumn;
  /** Marks an alias. The member exists only in Drizzle's newer release line. */
  readonly isAlias?: boolean;
  /** Number of dimensions of an array, in Drizzle's newer release line. */
  readonly dimensions?: number;
  /** Name and schema of a Postgres enum type. */
  readonly enum?: { readonly enumName: string; readonly schema?: string | undefined };
  readonly config?: {
    /** The conversion functions of a custom column type. */
    readonly customTypeParams?: { readonly toDriver?: unknown; readonly fromDriver?: unknown };
  };
  getSQLType(): string;
  mapToDriverValue(value: unknown): unknown;
}

/** The property under which a Drizzle table stores a function that names its columns. */
export const casingKey: unique symbol = Symbol.for("@svc/resource-api:casing");
export const nameKey: unique symbol = Symbol.for("drizzle:Name");
export const schemaKey: unique symbol = Symbol.for("drizzle:Schema");
export const columnsKey: unique symbol = Symbol.for("drizzle:Columns");
/** The property under which a Drizzle table stores the columns that its third argument receives. */
export const extraColumnsKey: unique symbol = Symbol.for("drizzle:ExtraConfigColumns");
/** The property under which a Drizzle table stores its third argument. */
export const extraConfigKey: unique symbol = Symbol.for("drizzle:ExtraConfigBuilder");
export const aliasKey: unique symbol = Symbol.for("drizzle:IsAlias");
const tableKey: unique symbol = Symbol.for("drizzle:IsDrizzleTable");
/** The property under which a Drizzle table for SQLite stores foreign keys of columns. */
export const sqliteForeignKeysKey: unique symbol = Symbol.for("drizzle:SQLiteInlineForeignKeys");
/** The property under which a Drizzle table for Postgres stores foreign keys of columns. */
export const postgresForeignKeysKey: unique symbol = Symbol.for("drizzle:PgInlineForeignKeys");
const entityKindKey: unique symbol = Symbol.for("drizzle:entityKind");

export function isDrizzleTable(value: object): value is DrizzleTable {
  return tableKey in value && columnsKey in value && nameKey in value;
}

export function dbNameOf(
  { name, keyAsName }: Pick<DrizzleColumn, "name" | "keyAsName">,
  table: DrizzleTable,
): string {
  return keyAsName === true ? table[casingKey]?.(name) ?? name : name;
}

/** A foreign key that a Drizzle column declares by `references()`. */
export interface InlineForeignKey {
  /** Returns the two columns of the foreign key. */
  reference(): {
    readonly columns: readonly DrizzleColumn[];
    readonly foreignColumns: readonly DrizzleColumn[];
  };
  readonly onDelete?: string | undefined;
  readonly onUpdate?: string | undefined;
}

export function isDrizzleColumn(value: object): value is DrizzleColumn {
  return "columnType" in value && "getSQLType" in value && "table" in value &&
    typeof value.table === "object" && value.table !== null && isDrizzleTable(value.table);
}

/**
 * Returns the class name that Drizzle assigns to a value, such as `SQLitePrimaryKeyBuilder`, or null
 * for other values. The name is the same in all copies of the library, unlike the class.
 */
export function entityKindOf(value: unknown): string | null {
  if (typeof value !== "object" || value === null) return null;
  const { constructor } = value;
  // A subclass has a separate name, which hides the name of its superclass.
  const kind: unknown = Reflect.get(constructor ?? value, entityKindKey);
  return typeof kind === "string" ? kind : null;
}

/** Thrown for an unsupported column. Messages begin with "Cannot serve notes.scan: ". */
export class UnservableColumn extends Error {
  /** `reason` begins with the column's kind. */
  constructor(reason: string) {
    super(reason);
    this.name = "UnservableColumn";
  }
}
