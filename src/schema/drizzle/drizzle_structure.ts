/**
 * A table of Drizzle as this package reads it: by the symbols and members that both of its lines
 * share, so that nothing here depends on the library.
 */
export interface DrizzleTable {
  /** The name in the database, or that of an alias. */
  readonly [nameKey]: string;
  /** The schema of Postgres; undefined for the default one. */
  readonly [schemaKey]: string | undefined;
  /** The columns by property. */
  readonly [columnsKey]: Readonly<Record<string, DrizzleColumn>>;
  /** The columns as the third argument of the table receives them. */
  readonly [extraColumnsKey]?: Readonly<Record<string, DrizzleColumn>>;
  /** The third argument of the table. */
  readonly [extraConfigKey]?: ((columns: unknown) => unknown) | undefined;
  /** True if it stands for another table in a query. */
  readonly [aliasKey]?: boolean;
  /** What its columns without a name of their own are called, where the program has said so. */
  readonly [casingKey]?: (property: string) => string;
  readonly [sqliteForeignKeys]?: readonly InlineForeignKey[];
  readonly [postgresForeignKeys]?: readonly InlineForeignKey[];
}

/** A column of a {@link DrizzleTable}. */
export interface DrizzleColumn {
  /** The name in the database. */
  readonly name: string;
  /** True if the name is that of the property, which the older line may still convert. */
  readonly keyAsName?: boolean;
  /** Its table. */
  readonly table: DrizzleTable;
  /** Its class: the same in both lines, as `dataType` is not. */
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
  /** Of an array in the older line: the column of its elements. */
  readonly baseColumn?: DrizzleColumn;
  /** In the newer line alone. */
  readonly isAlias?: boolean;
  /** Of an array in the newer line: how many brackets it has. */
  readonly dimensions?: number;
  /** Of an enum of Postgres. */
  readonly enum?: { readonly enumName: string; readonly schema?: string | undefined };
  readonly config?: {
    /** Of a custom type. */
    readonly customTypeParams?: { readonly toDriver?: unknown; readonly fromDriver?: unknown };
  };
  getSQLType(): string;
  mapToDriverValue(value: unknown): unknown;
}

/** Under which a table of Drizzle has what its columns are called. Ours, and none of Drizzle's. */
export const casingKey: unique symbol = Symbol.for("@svc/resource-api:casing");
/** Under which a table of Drizzle has its name. */
export const nameKey: unique symbol = Symbol.for("drizzle:Name");
/** Under which a table of Drizzle has its schema. */
export const schemaKey: unique symbol = Symbol.for("drizzle:Schema");
/** Under which a table of Drizzle has its columns. */
export const columnsKey: unique symbol = Symbol.for("drizzle:Columns");
/** Under which a table of Drizzle has the columns for its third argument. */
export const extraColumnsKey: unique symbol = Symbol.for("drizzle:ExtraConfigColumns");
/** Under which a table of Drizzle has its third argument. */
export const extraConfigKey: unique symbol = Symbol.for("drizzle:ExtraConfigBuilder");
/** Under which a table of Drizzle says whether it is an alias. */
export const aliasKey: unique symbol = Symbol.for("drizzle:IsAlias");
const tableKey: unique symbol = Symbol.for("drizzle:IsDrizzleTable");
/** Under which a table of Drizzle for SQLite has the foreign keys of its columns. */
export const sqliteForeignKeys: unique symbol = Symbol.for("drizzle:SQLiteInlineForeignKeys");
/** Under which a table of Drizzle for Postgres has the foreign keys of its columns. */
export const postgresForeignKeys: unique symbol = Symbol.for("drizzle:PgInlineForeignKeys");
const entityKindKey: unique symbol = Symbol.for("drizzle:entityKind");

/** Returns true if a value is a table of Drizzle. */
export function isDrizzleTable(value: object): value is DrizzleTable {
  return tableKey in value && columnsKey in value && nameKey in value;
}

/** The name of a column in the database. */
export function dbNameOf(
  { name, keyAsName }: Pick<DrizzleColumn, "name" | "keyAsName">,
  table: DrizzleTable,
): string {
  return keyAsName === true ? table[casingKey]?.(name) ?? name : name;
}

/** A foreign key that a column of Drizzle declares by `references()`. */
export interface InlineForeignKey {
  /** Calls the function that names the other column. */
  reference(): {
    readonly columns: readonly DrizzleColumn[];
    readonly foreignColumns: readonly DrizzleColumn[];
  };
  readonly onDelete?: string | undefined;
  readonly onUpdate?: string | undefined;
}

/** Returns true if a value is a column of a table of Drizzle. */
export function isDrizzleColumn(value: object): value is DrizzleColumn {
  return "columnType" in value && "getSQLType" in value && "table" in value &&
    typeof value.table === "object" && value.table !== null && isDrizzleTable(value.table);
}

/**
 * The name that Drizzle gives the class of a value, such as `SQLitePrimaryKeyBuilder`: its test for
 * what a value is, which holds across copies of the library. Null for what is not of Drizzle.
 */
export function entityKindOf(value: unknown): string | null {
  if (typeof value !== "object" || value === null) return null;
  const { constructor } = value;
  // A class has its own name there, which hides that of the class above.
  const kind: unknown = Reflect.get(constructor ?? value, entityKindKey);
  return typeof kind === "string" ? kind : null;
}

/** Why a column cannot be served: completes "Cannot serve notes.scan: …". */
export class UnservableColumn extends Error {
  /** `reason` begins with what the column is. */
  constructor(reason: string) {
    super(reason);
    this.name = "UnservableColumn";
  }
}
