import { kindOf } from "../schema/kinds.ts";
import type { TableInfo } from "../schema/table_info.ts";
import type { Dialect } from "../sql/dialect.ts";

/**
 * Whether `compareKeys` gives the order of the keys in the database. It does not for texts of
 * existing tables, which may have another collation, for kinds without an order, and for keys that
 * may be NULL.
 */
export function hasComparableKey(table: TableInfo, dialect: Dialect): boolean {
  return table.primaryKey.every((column) =>
    column.notNull && kindOf(column.kind).compare !== null &&
    dialect.comparesAsMemory(column) === "wholly"
  );
}
