import type { TableInfo } from "../../../schema/table_info.ts";
import { DatabaseError } from "../../../db/database_error.ts";
import type { Connection } from "../../../db/driver.ts";
import { blankToken, ddlTokens } from "../../../sql/statements/normal_sql.ts";

/** Returns the tables with ON CONFLICT clauses, which only the stored CREATE TABLE contains. */
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
      rows.flatMap(([name, statement]) => hasOnConflictClause(String(statement)) ? [name] : []),
    );
    return tables.filter(({ name }) => names.has(name.toLowerCase()));
  } catch (error) {
    // If the file is locked, writes to all tables override REPLACE and IGNORE, so no row is lost.
    if (error instanceof DatabaseError) return tables;
    throw error;
  }
}

/** Returns true if CREATE TABLE has a conflict clause other than ABORT, SQLite's default. */
export function hasOnConflictClause(statement: string): boolean {
  const words = ddlTokens(statement.toUpperCase()).filter((token) => !blankToken.test(token));
  return words.some((word, index) =>
    word === "ON" && words[index + 1] === "CONFLICT" && resolutions.has(words[index + 2] ?? "")
  );
}

const resolutions: ReadonlySet<string> = new Set(["REPLACE", "IGNORE", "FAIL", "ROLLBACK"]);
