import { readTableInfo, type TableLike } from "../schema/define.ts";
import type { TableInfo } from "../schema/table_info.ts";

/** The description of a declared table, or of one that was read from a live database. */
export function tableOf(table: TableLike<unknown, unknown> | TableInfo): TableInfo {
  return isTableInfo(table) ? table : readTableInfo(table);
}

/** A declared table may have a column called `byName`, which is no Map. */
function isTableInfo(table: TableLike<unknown, unknown> | TableInfo): table is TableInfo {
  return "byName" in table && table.byName instanceof Map;
}
