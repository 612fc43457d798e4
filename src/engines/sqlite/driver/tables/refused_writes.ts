import { identifier, join, sql, toStatement } from "../../../../sql/fragment.ts";
import { DatabaseError, reasonOf } from "../../../../db/database_error.ts";
import type { Connection } from "../../../../db/driver.ts";
import { selectNamed } from "../../../../db/named_columns.ts";
import { missingPart } from "../sqlite_errors.ts";

/**
 * Why SQLite refuses to prepare writes of a table: its triggers call a function, or its indexes have a
 * collation, that only another program has. Null if all can be prepared.
 */
export async function refusedWrites(
  connection: Connection,
  table: string,
  columns: readonly { readonly name: string; readonly generated: boolean }[],
): Promise<string | null> {
  const name = identifier(table);
  const kept = columns.filter(({ generated }) => !generated).map(({ name }) => identifier(name));
  const parts = new Set<string>();
  for (
    const statement of [
      sql`INSERT INTO ${name} DEFAULT VALUES`,
      sql`UPDATE ${name} SET ${join(kept.map((column) => sql`${column} = ${column}`), ", ")}`,
      sql`DELETE FROM ${name}`,
    ]
  ) {
    try {
      await connection.query(toStatement(sql`EXPLAIN ${statement}`, () => "?"));
    } catch (error) {
      const part = error instanceof DatabaseError ? missingPart(reasonOf(error)) : null;
      if (part !== null) parts.add(part.reason + await triggersWith(connection, table, part.name));
    }
  }
  return parts.size === 0 ? null : [...parts].join("; ");
}

async function triggersWith(connection: Connection, table: string, part: string): Promise<string> {
  const rows = await selectNamed(
    connection,
    { name: "name" },
    `FROM sqlite_schema WHERE type = 'trigger' AND tbl_name = ? COLLATE NOCASE
     AND instr(lower(sql), lower(?)) > 0 ORDER BY name`,
    table,
    part,
  );
  return rows.length === 0 ? "" : ` (in ${rows.map(({ name }) => String(name)).join(", ")})`;
}
