import { showValue } from "../problem/show_value.ts";
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
}

/** The description that anything like a table carries, or like a column of it. */
export function tableInfoOf(
  source: TableLike<unknown, unknown> | ColumnLike<unknown>,
): TableInfo {
  if (isObject(source) && hasTableInfo(source)) return source[tableInfoKey];
  throw new Error(`Cannot use ${showValue(source)} as a table: it was not made by table()`);
}

/**
 * Whether something like a table is a description and not a declared table, which may have a column
 * called `byName`, but not as a Map.
 */
export function isTableInfo(table: TableLike<unknown, unknown> | TableInfo): table is TableInfo {
  return "byName" in table && table.byName instanceof Map;
}

/** Whether a value is like a column of a declared table. */
export function isColumn(
  value: unknown,
): value is ColumnLike<unknown> & { readonly [columnInfoKey]: ColumnInfo } {
  return isObject(value) && hasColumnInfo(value);
}

/**
 * The description that anything like a column carries, one of the columns of its {@link
 * tableInfoOf}.
 */
export function columnInfoOf(column: ColumnLike<unknown>): ColumnInfo {
  if (isColumn(column)) return column[columnInfoKey];
  const given = showValue(column);
  throw new Error(
    `Cannot use ${given} as a column: it does not belong to a table made by table(); is its name right?`,
  );
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
