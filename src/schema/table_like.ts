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

/** The property of tables, and of their columns, that contains the table's description. */
export const tableInfoKey: unique symbol = Symbol.for("@svc/resource-api:table");

/** The property of columns that contains the column's description. */
export const columnInfoKey: unique symbol = Symbol.for("@svc/resource-api:column");

/**
 * The name of a table that the compiler does not know. A column of such a table, for instance of an
 * introspected table, is accepted for each table, and checked when the service starts.
 */
// The type is `any`, because only `any` is assignable to and from every name.
// deno-lint-ignore no-explicit-any
export type AnyTable = any;

/** True if a name is unknown: `any`, or any string. */
export type IsUnknownName<Name> = 0 extends (1 & Name) ? true : string extends Name ? true : false;

/**
 * A column whose values have type `T`, possibly of another library with an equal `_`. `Of` is the
 * name of the column's table, so the compiler refuses the column in place of a column of another
 * table.
 */
export interface ColumnLike<T, Of = AnyTable> {
  /** Exists for the compiler only. */
  readonly _: { readonly data: T; readonly tableName?: Of };
}

/**
 * A table whose rows have type `Select` and whose new rows have type `Insert`. `Name` is its name,
 * if the compiler knows it.
 */
export interface TableLike<Select, Insert, Name = AnyTable> {
  /** The type of a row; exists for the compiler only. */
  readonly $inferSelect: Select;
  /** The type of a new row; exists for the compiler only. */
  readonly $inferInsert: Insert;
  /** The name; exists for the compiler only. */
  readonly $inferName?: Name;
  /** The name in Drizzle; exists for the compiler only. */
  readonly _?: { readonly name?: Name };
}

/**
 * The type of a value in requests and responses: strings instead of the dates, big integers and
 * bytes of Drizzle tables.
 */
export type ServedValue<T> = T extends Date | bigint | Uint8Array ? string
  : T extends readonly (infer Item)[] ? unknown extends Item ? T
    : [Item] extends [Date | bigint | Uint8Array | null] ? ServedValue<Item>[]
    : T
  : T;

/** The type of a row, or of a new row, in requests and responses: see {@link ServedValue}. */
export type ServedRow<Row> =
  // The intersection makes editors show the members instead of the name of the type.
  & { [Key in keyof Row]: ServedValue<Row[Key]> }
  & unknown;

/** Returns the description of a table, or of the table of a column. */
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

/** Returns true if a value is a table that `table()` or Drizzle declares. A description is not. */
export function isTableLike(value: unknown): value is TableLike<unknown, unknown> {
  return isObject(value) && !hasColumnInfo(value) && (hasTableInfo(value) || isDrizzleTable(value));
}

/**
 * Returns true if a value is a description and not a declared table. Such a table may have a column
 * called `byName`, but not a Map.
 */
export function isTableInfo(table: TableLike<unknown, unknown> | TableInfo): table is TableInfo {
  return "byName" in table && table.byName instanceof Map;
}

/** Returns true if a value is a column of a declared table. */
export function isColumn(value: unknown): value is ColumnLike<unknown> {
  return isObject(value) && (hasColumnInfo(value) || isDrizzleColumn(value));
}

/** Returns the description of a column, which is one of the columns of its {@link tableInfoOf}. */
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

/**
 * Describes a Drizzle table once: the table and its columns store the description like declared
 * tables, so every use has the same description.
 */
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

/** Returns the description of a column. A table's third argument has copies of the columns. */
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
