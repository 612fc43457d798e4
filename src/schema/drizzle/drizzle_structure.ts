import type { ColumnInfo } from "../table_info.ts";
import type { ColumnKind } from "../kind.ts";
import { kindProperties } from "../kinds/kind_properties.ts";

/** Members of Drizzle tables that the service reads. Both release lines of Drizzle have them. */
export interface DrizzleTable {
  readonly [nameKey]: string;
  readonly [schemaKey]: string | undefined;
  readonly [columnsKey]: Readonly<Record<string, DrizzleColumn>>;
  readonly [extraColumnsKey]?: Readonly<Record<string, DrizzleColumn>>;
  readonly [extraConfigKey]?: ((columns: unknown) => unknown) | undefined;
  readonly [aliasKey]?: boolean;
  readonly [casingKey]?: (property: string) => string;
  readonly [sqliteForeignKeysKey]?: readonly InlineForeignKey[];
  readonly [postgresForeignKeysKey]?: readonly InlineForeignKey[];
}

export interface DrizzleColumn {
  readonly name: string;
  /** True if no name is declared. The older release line can then change the case of `name`. */
  readonly keyAsName?: boolean;
  readonly table: DrizzleTable;
  /** The name of the column's class: unlike `dataType`, it is the same in both release lines. */
  readonly columnType: string;
  /** The unit of a timestamp that is a number in SQLite. */
  readonly mode?: string;
  readonly notNull: boolean;
  readonly primary: boolean;
  readonly isUnique?: boolean;
  readonly hasDefault: boolean;
  readonly default?: unknown;
  readonly defaultFn?: (() => unknown) | undefined;
  readonly onUpdateFn?: (() => unknown) | undefined;
  readonly enumValues?: readonly string[] | undefined;
  readonly generated?: { readonly as: unknown } | undefined;
  readonly generatedIdentity?: { readonly type: string } | undefined;
  /** In the older release line: the column that describes the elements of an array. */
  readonly baseColumn?: DrizzleColumn;
  /** True for the column of an alias. Exists only in the newer release line. */
  readonly isAlias?: boolean;
  /** In the newer release line: the number of dimensions of an array. */
  readonly dimensions?: number;
  readonly enum?: { readonly enumName: string; readonly schema?: string | undefined };
  readonly config?: {
    readonly customTypeParams?: {
      readonly toDriver?: (value: unknown) => unknown;
      readonly fromDriver?: (value: unknown) => unknown;
    };
  };
  getSQLType(): string;
  mapToDriverValue(value: unknown): unknown;
}

export const casingKey: unique symbol = Symbol.for("@svc/resource-api:casing");
export const nameKey: unique symbol = Symbol.for("drizzle:Name");
export const schemaKey: unique symbol = Symbol.for("drizzle:Schema");
export const columnsKey: unique symbol = Symbol.for("drizzle:Columns");
export const extraColumnsKey: unique symbol = Symbol.for("drizzle:ExtraConfigColumns");
export const extraConfigKey: unique symbol = Symbol.for("drizzle:ExtraConfigBuilder");
export const aliasKey: unique symbol = Symbol.for("drizzle:IsAlias");
const tableKey: unique symbol = Symbol.for("drizzle:IsDrizzleTable");
export const sqliteForeignKeysKey: unique symbol = Symbol.for("drizzle:SQLiteInlineForeignKeys");
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

interface InlineForeignKey {
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

/** Returns Drizzle's name of a value's class, or null. All copies of Drizzle share the name. */
export function entityKindOf(value: unknown): string | null {
  if (typeof value !== "object" || value === null) return null;
  const { constructor } = value;
  // A subclass has its own name, which hides the name of its superclass.
  const kind: unknown = Reflect.get(constructor ?? value, entityKindKey);
  return typeof kind === "string" ? kind : null;
}

export type DrizzleType = Pick<
  ColumnInfo,
  | "kind"
  | "precision"
  | "scale"
  | "maxLength"
  | "enumValues"
  | "existingType"
  | "timestampFormat"
  | "databaseType"
  | "converted"
>;

export interface DrizzleDialect {
  readonly engine: string;
  typeOf(column: DrizzleColumn): DrizzleType;
  /** True if a primary key cannot contain NULL in this engine. */
  readonly hasWholeKeys: boolean;
  isAssigned(column: DrizzleColumn, isKey: boolean): boolean;
}

/** The kind of a column. `converted` is true if only Drizzle can convert the stored values. */
interface ConvertedKind {
  readonly kind: ColumnKind;
  readonly converted?: true;
}

/**
 * Returns the kind of a column, from the `kind` of its SQL type. For a custom type (`toDriver`,
 * `fromDriver`) of strings or numbers, the function converts a sample: if the sample changes, e.g.
 * by encryption, only Drizzle can convert the values. Bytes of a custom type always need Drizzle.
 */
export function convertedKind(
  column: DrizzleColumn,
  kind: ColumnKind,
  driverNumber: "12" | 12,
): ConvertedKind {
  const given = column.config?.customTypeParams ?? {};
  if (given.toDriver === undefined && given.fromDriver === undefined) return { kind };
  if (kind === "bytes") return { kind, converted: true };
  const isNumber = kindProperties[kind].arithmetic !== null;
  if (!isNumber && kind !== "text") return { kind };
  const { toDriver = unchanged, fromDriver = unchanged } = given;
  const stored = isNumber ? driverNumber : "Ab 1";
  try {
    const value = fromDriver(stored);
    const isSame = [value, toDriver(value)].every((one) => String(one) === String(stored));
    if (!isSame) return { kind, converted: true };
    return { kind: given.fromDriver === undefined ? kind : kindOfValue(value, kind) };
  } catch {
    return { kind, converted: true };
  }
}

function kindOfValue(value: unknown, kind: ColumnKind): ColumnKind {
  if (typeof value === "number" && kind === "decimal") return "real";
  return typeof value === "bigint" && kind === "integer" ? "bigint" : kind;
}

const unchanged = (value: unknown) => value;
