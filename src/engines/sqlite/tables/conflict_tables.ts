import type { TableInfo } from "../../../schema/table_info.ts";
import { hasConflictClause } from "../sql/conflict_clause.ts";
import { DatabaseError } from "../../../db/database_error.ts";
import type { Connection } from "../../../db/driver.ts";

/**
 * Returns the tables that define what happens to a row which violates a constraint, for example
 * that it replaces the rows with its unique values. Only the stored CREATE TABLE statement shows
 * this, because neither a declaration nor a PRAGMA does.
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
    // The file may be locked now. That must not cause the loss of a row.
    if (error instanceof DatabaseError) return tables;
    throw error;
  }
}
