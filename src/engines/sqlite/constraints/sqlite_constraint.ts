import type { TableInfo } from "../../../schema/table_info.ts";
import { columnsOfCheck } from "../sql/parse_checks.ts";
import { parseCreateIndex } from "../../../sql/statements/parse_create_index.ts";
import type { DatabaseError } from "../../../db/database_error.ts";
import type { Connection } from "../../../db/driver.ts";

/** Returns the names of the columns that a violated constraint of a SQLite table covers. */
export async function sqliteConstraintColumns(
  { kind, constraint }: DatabaseError,
  table: TableInfo,
  connection: Connection,
): Promise<readonly string[]> {
  const failed = constraint?.name ?? null;
  if (failed === null) return [];
  const columns = table.columns.map(({ dbName }) => dbName);
  if (kind === "check") {
    const created = await createStatement("table", table.name, table, connection);
    return columnsOfCheck(created, failed, columns);
  }
  const [, index] = /^index '([^]*)'$/.exec(failed) ?? [];
  if (index === undefined) return listedColumns(failed, table);
  // SQLite reports only the name of an index over expressions, so its statement is parsed.
  const created = await createStatement("index", index, table, connection);
  return created === "" ? [] : parseCreateIndex(created, table.name, columns).columns;
}

/** Returns `title` and `owner` for `notes.title, notes.owner`, and nothing for another table. */
function listedColumns(failed: string, { name }: TableInfo): readonly string[] {
  const prefix = `${name}.`.toLowerCase();
  // SQLite does not quote names, so parts of a name that contains `, ` are not found as columns.
  return failed.split(", ").flatMap((part) =>
    part.toLowerCase().startsWith(prefix) ? [part.slice(prefix.length)] : []
  );
}

async function createStatement(
  type: "table" | "index",
  name: string,
  table: TableInfo,
  connection: Connection,
): Promise<string> {
  const { rows: [row] } = await connection.query({
    text: `SELECT sql FROM sqlite_schema WHERE type = ? AND name = ? COLLATE NOCASE
      AND tbl_name = ? COLLATE NOCASE`,
    values: [type, name, table.name],
  });
  return String(row?.[0] ?? "");
}
