import type { TableInfo } from "../../../schema/table_info.ts";
import { hasConflictClause } from "../sql/conflict_clause.ts";
import { DatabaseError } from "../../../db/database_error.ts";
import type { Driver } from "../../../db/driver.ts";
import type { TableOfDriver } from "../../../db/tables/check_tables.ts";

/**
 * The tables of SQLite that say themselves what becomes of a row which violates a constraint, such as
 * to replace the rows that have its unique values. The database alone knows: neither a declaration
 * nor a PRAGMA says it.
 */
export async function conflictTables(
  served: readonly TableOfDriver[],
): Promise<ReadonlySet<TableInfo>> {
  const byDriver = Map.groupBy(served, ({ driver }) => driver);
  const found = await Promise.all(
    [...byDriver].map(([driver, tables]) => tablesOf(driver, tables.map(({ table }) => table))),
  );
  return new Set(found.flat());
}

async function tablesOf(
  driver: Driver,
  tables: readonly TableInfo[],
): Promise<readonly TableInfo[]> {
  if (driver.dialect.engine !== "sqlite") return [];
  try {
    const { rows } = await driver.query({
      text: "SELECT lower(name), sql FROM sqlite_schema WHERE type = 'table' AND sql LIKE ?",
      values: ["%conflict%"],
    });
    const names = new Set(
      rows.flatMap(([name, statement]) => hasConflictClause(String(statement)) ? [name] : []),
    );
    return tables.filter(({ name }) => names.has(name.toLowerCase()));
  } catch (error) {
    // A file that is locked now: no row may be lost because it was.
    if (error instanceof DatabaseError) return tables;
    throw error;
  }
}
