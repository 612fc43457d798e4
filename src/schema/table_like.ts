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

/** The property under which a table and its columns store the table's description. */
export const tableInfoKey: unique symbol = Symbol.for("@svc/resource-api:table");

/** The property under which a column stores its description. */
export const columnInfoKey: unique symbol = Symbol.for("@svc/resource-api:column");

/**
 * The name of a table that TypeScript does not know, such as an introspected table. The compiler
 * accepts its columns for each table. The service checks the columns at startup.
 */
// The type is `any`, because only `any` is assignable to and from every name.
// deno-lint-ignore no-explicit-any
export type AnyTable = any;

/** True if TypeScript does not know a name: its type is `any`, or any string. */
export type IsUnknownName<Name> = 0 extends (1 & Name) ? true : string extends Name ? true : false;

/**
 * A column whose values have type `T`. Another library's column also matches if its `_` has this
 * type. `Of` is the name of the table, so the compiler rejects a column of a different table.
 */
export interface ColumnLike<T, Of = AnyTable> {
  /** Phantom member for type inference. It does not exist at runtime. */
  readonly _: { readonly data: T; readonly tableName?: Of };
}

/**
 * A table whose rows have type `Select` and whose new rows have type `Insert`. `Name` is the
 * table's name, if the compiler knows it.
 */
export interface TableLike<Select, Insert, Name = AnyTable> {
  /** The type of a row. The member does not exist at runtime. */
  readonly $inferSelect: Select;
  /** The type of a new row. The member does not exist at runtime. */
  readonly $inferInsert: Insert;
  /** The name of the table. The member does not exist at runtime. */
  readonly $inferName?: Name;
  /** The name of a Drizzle table. The member does not exist at runtime. */
  readonly _?: { readonly name?: Name };
}

/**
 * The type of a value in requests and responses. Drizzle's dates, bigints and bytes are strings.
 */
export type ServedValue<T> = T extends Date | bigint | Uint8Array ? string
  : T extends readonly (infer Item)[] ? unknown extends Item ? T
    : [Item] extends [Date | bigint | Uint8Array | null] ? ServedValue<Item>[]
    : T
  : T;

/** The type of a row or new row in requests and responses, with {@link ServedValue} members. */
export type ServedRow<Row> =
  // With an intersection, editors show the members of the type instead of its name.
  & { [Key in keyof Row]: ServedValue<Row[Key]> }
  & unknown;

export function tableInfoOf(
  source: TableLike<unknown, unknown> | ColumnLike<unknown>,
): TableInfo {
  if (isObject(source)) {
    if (hasTableInfo(source)) return source[tableInfoKey];
    if (isDrizzleTable(source)) return describe(source);
    if (isDrizzleColumn(source)) return describe(source.table);
  }
  throw new Error(
    `Cannot use ${showValue(source)} as a table: it was not made by table(), nor by Drizzle`,
  );
}

/** Returns true if a value is a table that `table()` or Drizzle declares, not a description. */
export function isTableLike(value: unknown): value is TableLike<unknown, unknown> {
  return isObject(value) && !hasColumnInfo(value) && (hasTableInfo(value) || isDrizzleTable(value));
}

/**
 * Returns true if a value is a table's description instead of a declared table. A declared table
 * may have a column called `byName`, but that column is never a Map.
 */
export function isTableInfo(table: TableLike<unknown, unknown> | TableInfo): table is TableInfo {
  return "byName" in table && table.byName instanceof Map;
}

export function isColumn(value: unknown): value is ColumnLike<unknown> {
  return isObject(value) && (hasColumnInfo(value) || isDrizzleColumn(value));
}

/** Returns a column's description, which {@link tableInfoOf} also contains. */
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

/** Describes a Drizzle table. Stores the description in the table for later calls. */
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

/** Returns a column's description. In the third argument of a Drizzle table, columns are copies. */
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
