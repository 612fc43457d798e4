import { showValue } from "../problem/show_value.ts";
import {
  columnsKey,
  dbNameOf,
  type DrizzleColumn,
  type DrizzleTable,
  isDrizzleColumn,
  isDrizzleTable,
} from "./drizzle/drizzle_structure.ts";
import { describeDrizzleTable } from "./drizzle/drizzle_table.ts";
import type { ColumnInfo, TableInfo } from "./table_info.ts";

/** The property of a table, and of each column, that contains the table's description. */
export const tableInfoKey: unique symbol = Symbol.for("@svc/resource-api:table");

/** The property of a column that contains its description. */
export const columnInfoKey: unique symbol = Symbol.for("@svc/resource-api:column");

/**
 * The table name of a table that TypeScript does not know, such as an introspected one. The
 * compiler accepts its columns for every table, and the service checks them when it starts.
 */
// The type is `any`, because only `any` is assignable to and from every name.
// deno-lint-ignore no-explicit-any
export type AnyTable = any;

/** @internal True for a name that TypeScript does not know: its type is `any`, or all strings. */
export type IsUnknownName<Name> = 0 extends (1 & Name) ? true : string extends Name ? true : false;

/**
 * A column with values of type `T`. A column of another library matches, too, if its `_` has this
 * type. `Of` is the table's name, so that the compiler rejects columns of other tables.
 */
export interface ColumnLike<T, Of = AnyTable> {
  /** Exists only for the compiler, which infers types from it. */
  readonly _: { readonly data: T; readonly tableName?: Of };
}

/**
 * A table with rows of type `Select` and new rows of type `Insert`. `Name` is its name, if the
 * compiler knows it.
 */
export interface TableLike<Select, Insert, Name = AnyTable> {
  /** The type of a row. Exists only for the compiler. */
  readonly $inferSelect: Select;
  /** The type of a new row. Exists only for the compiler. */
  readonly $inferInsert: Insert;
  /** The name of the table. Exists only for the compiler. */
  readonly $inferName?: Name;
  /** The name of a Drizzle table. Exists only for the compiler. */
  readonly _?: { readonly name?: Name };
}

/** The type of a value in JSON: dates, bigints and bytes of Drizzle become strings. */
export type ServedValue<T> = T extends Date | bigint | Uint8Array ? string
  : T extends readonly (infer Item)[] ? unknown extends Item ? T
    : [Item] extends [Date | bigint | Uint8Array | null] ? ServedValue<Item>[]
    : T
  : T;

/** The type of a row in JSON, whose members have the type {@link ServedValue}. */
export type ServedRow<Row> =
  // Because of the intersection, editors show the members and not the type's name.
  { [Key in keyof Row]: ServedValue<Row[Key]> } & unknown;

export function tableInfoOf(source: TableLike<unknown, unknown> | ColumnLike<unknown>): TableInfo {
  if (isObject(source)) {
    if (hasTableInfo(source)) return source[tableInfoKey];
    if (isDrizzleTable(source)) return describe(source);
    if (isDrizzleColumn(source)) return describe(source.table);
  }
  throw new Error(
    `Cannot use ${showValue(source)} as a table: it was not made by table(), nor by Drizzle`,
  );
}

/** Returns true for a table that `table()` or Drizzle has declared, and false for a description. */
export function isTableLike(value: unknown): value is TableLike<unknown, unknown> {
  return isObject(value) && !hasColumnInfo(value) && (hasTableInfo(value) || isDrizzleTable(value));
}

/**
 * Returns true for a description, and false for a declared table. A declared table can have a
 * column `byName`, but no column is a Map.
 */
export function isTableInfo(table: TableLike<unknown, unknown> | TableInfo): table is TableInfo {
  return "byName" in table && table.byName instanceof Map;
}

export function isColumn(value: unknown): value is ColumnLike<unknown> {
  return isObject(value) && (hasColumnInfo(value) || isDrizzleColumn(value));
}

/** Returns the description of a column, the same object as in {@link tableInfoOf}. */
export function columnInfoOf(column: ColumnLike<unknown>): ColumnInfo {
  if (isObject(column)) {
    if (hasColumnInfo(column)) return column[columnInfoKey];
    if (isDrizzleColumn(column)) return columnOf(describe(column.table), column);
  }
  const given = showValue(column);
  throw new Error(
    `Cannot use ${given} as a column: it does not belong to a table made by table() or by Drizzle; is its name right?`,
  );
}

function describe(table: DrizzleTable): TableInfo {
  if (hasTableInfo(table)) return table[tableInfoKey];
  const info = describeDrizzleTable(table);
  Object.defineProperty(table, tableInfoKey, { value: info });
  for (const [name, column] of Object.entries(table[columnsKey])) {
    Object.defineProperty(column, tableInfoKey, { value: info });
    Object.defineProperty(column, columnInfoKey, { value: info.byName.get(name) });
  }
  return info;
}

/** Returns the description of a column, also of the copies in a Drizzle table's third argument. */
function columnOf(table: TableInfo, source: DrizzleColumn): ColumnInfo {
  const dbName = dbNameOf(source, source.table);
  const found = table.columns.find((column) => column.dbName === dbName);
  if (found !== undefined) return found;
  throw new Error(`Cannot use "${dbName}" as a column: "${table.name}" has none of this name`);
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}

function hasTableInfo(source: object): source is { readonly [tableInfoKey]: TableInfo } {
  return tableInfoKey in source;
}

function hasColumnInfo(source: object): source is { readonly [columnInfoKey]: ColumnInfo } {
  return columnInfoKey in source;
}
