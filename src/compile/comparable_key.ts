import { kindOf } from "../schema/kinds.ts";
import type { TableInfo } from "../schema/table_info.ts";
import type { Dialect } from "../sql/dialect.ts";

/**
 * Whether `compareKeys` gives the order in which the database walks the keys. It does not for
 * texts of foreign tables, which have a collation of their own, for kinds without an order, and
 * for keys that may hold NULL.
 */
export function hasComparableKey(table: TableInfo, dialect: Dialect): boolean {
  return table.primaryKey.every((column) =>
    column.notNull && kindOf(column.kind).compare !== null &&
    dialect.comparesAsMemory(column) === "wholly"
  );
}
