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

/**
 * The property under which anything like a table, and each of its columns, has the table's
 * description.
 */
export const tableInfoKey: unique symbol = Symbol.for("@svc/resource-api:table");

/** The property under which anything like a column has its description. */
export const columnInfoKey: unique symbol = Symbol.for("@svc/resource-api:column");

/**
 * The name of a table that the compiler does not know: what is of such a table is accepted for each,
 * as a column of an introspected table is, and compared with the table when the service starts.
 */
// Any, because only it is assignable to every name and from every name.
// deno-lint-ignore no-explicit-any
export type AnyTable = any;

/** True if a name is not known: of any type, or any string. */
export type IsUnknownName<Name> = 0 extends (1 & Name) ? true : string extends Name ? true : false;

/**
 * Anything like a column whose values are of type `T`, also of another library with the same `_`.
 * `Of` is the name of its table, so that the compiler refuses it where a column of another table is
 * expected.
 */
export interface ColumnLike<T, Of = AnyTable> {
  /** Exists for the compiler only. */
  readonly _: { readonly data: T; readonly tableName?: Of };
}

/**
 * Anything like a table whose rows are of type `Select` and whose new rows are of type `Insert`;
 * `Name` is its name, where the compiler knows it.
 */
export interface TableLike<Select, Insert, Name = AnyTable> {
  /** The type of a row; exists for the compiler only. */
  readonly $inferSelect: Select;
  /** The type of a new row; exists for the compiler only. */
  readonly $inferInsert: Insert;
  /** The name; exists for the compiler only. */
  readonly $inferName?: Name;
  /** Where Drizzle has the name; exists for the compiler only. */
  readonly _?: { readonly name?: Name };
}

/**
 * The type of a value as a service takes and gives it: strings in the place of moments, big integers
 * and bytes, which tables of Drizzle have as objects.
 */
export type ServedValue<T> = T extends Date | bigint | Uint8Array ? string
  : T extends readonly (infer Item)[] ? unknown extends Item ? T
    : [Item] extends [Date | bigint | Uint8Array | null] ? ServedValue<Item>[]
    : T
  : T;

/** The type of a row, or of a new row, as a service takes and gives it: see {@link ServedValue}. */
export type ServedRow<Row> =
  // An intersection, so that editors show the members and not the name of the type.
  & { [Key in keyof Row]: ServedValue<Row[Key]> }
  & unknown;

/** The description that anything like a table carries, or like a column of it. */
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

/** Returns true if a value is like a table: declared by `table()` or by Drizzle. A description is none. */
export function isTableLike(value: unknown): value is TableLike<unknown, unknown> {
  return isObject(value) && !hasColumnInfo(value) && (hasTableInfo(value) || isDrizzleTable(value));
}

/**
 * Returns true if something like a table is a description and not a declared table, which may have a column
 * called `byName`, but not as a Map.
 */
export function isTableInfo(table: TableLike<unknown, unknown> | TableInfo): table is TableInfo {
  return "byName" in table && table.byName instanceof Map;
}

/** Returns true if a value is like a column of a declared table. */
export function isColumn(value: unknown): value is ColumnLike<unknown> {
  return isObject(value) && (hasColumnInfo(value) || isDrizzleColumn(value));
}

/**
 * The description that anything like a column carries, one of the columns of its {@link
 * tableInfoOf}.
 */
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
 * Describes a table of Drizzle once: it and its columns carry the description as declared tables do,
 * so that it is the same one wherever they are named.
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

/** Drizzle gives the third argument of a table other objects for the same columns. */
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
