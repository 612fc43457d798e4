import { showValue } from "../../problem/show_value.ts";
import { isTableInfo, tableInfoOf, type TableLike } from "../../schema/table_like.ts";
import type { TableInfo } from "../../schema/table_info.ts";

/**
 * The description of a declared table, or of one that was read from a live database. Throws a plain
 * Error for what is no table, which only those meet who do not check types.
 */
export function tableInfoOf(table: TableLike<unknown, unknown> | TableInfo): TableInfo {
  if (typeof table !== "object" || table === null) {
    throw new Error(`Cannot serve this: resource() takes a table first, not ${showValue(table)}`);
  }
  return isTableInfo(table) ? table : tableInfoOf(table);
}
