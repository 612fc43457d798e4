import { kinds } from "../schema/kind_of.ts";
import type { TableInfo } from "../schema/table_info.ts";
import type { Dialect } from "../sql/dialect.ts";

/** Returns true if `compareKeys` certainly orders the keys of a table as the database does. */
export function hasComparableKey(table: TableInfo, dialect: Dialect): boolean {
  return table.primaryKey.every((column) =>
    column.notNull && kinds[column.kind].compare !== null &&
    dialect.comparesAsMemory(column) === "wholly"
  );
}
