import type { TableInfo } from "../../../schema/table_info.ts";
import { hasConflictClause } from "../sql/conflict_clause.ts";
import { DatabaseError } from "../../../db/database_error.ts";
import type { Connection } from "../../../db/driver.ts";

/**
 * Returns those of the tables that say themselves what becomes of a row which violates a constraint,
 * such as to replace the rows that have its unique values. The database alone knows: neither a
 * declaration nor a PRAGMA says it.
 */
export async function sqliteConflictTables(
  connection: Connection,
  tables: readonly TableInfo[],
): Promise<readonly TableInfo[]> {
  try {
    const { rows } = await connection.query({
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
