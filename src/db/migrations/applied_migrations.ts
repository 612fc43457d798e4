import { quoteText } from "../../sql/fragment.ts";
import { createHash } from "node:crypto";
import type { Dialect } from "../../sql/dialect.ts";
import type { Connection } from "../driver.ts";
import { engineOf } from "../engine/engine.ts";
import { cell, selectNamed } from "../named_columns.ts";
import type { MigrationFile } from "./files/migration_files.ts";

export interface AppliedMigration {
  readonly name: string;
  /** The checksum of the SQL. For an unfinished file: `unfinished` and how many statements ran. */
  readonly checksum: string;
}

export const migrationsTable = "_service_migrations";

/** Records a file in the transaction of its statements. False if another process recorded it. */
export async function recordMigration(
  connection: Connection,
  { name, sql }: Pick<MigrationFile, "name" | "sql">,
  checksum: string = checksumOf(sql),
): Promise<boolean> {
  await connection.query({
    text: `CREATE TABLE IF NOT EXISTS "${migrationsTable}" (
  number BIGINT PRIMARY KEY,
  name TEXT NOT NULL,
  checksum TEXT NOT NULL,
  sql TEXT NOT NULL,
  applied_at TEXT NOT NULL
)`,
    values: [],
  });
  const table = `"${migrationsTable}"`;
  const { changed } = await connection.query({
    text: `INSERT INTO ${table} (number, name, checksum, sql, applied_at)
      SELECT (SELECT coalesce(max(number), 0) + 1 FROM ${table}),
        ${[name, checksum, sql].map(quoteText).join(", ")}, CAST(CURRENT_TIMESTAMP AS text)
      WHERE NOT EXISTS (
        SELECT 1 FROM ${table} WHERE name = ${quoteText(name)} AND name LIKE '%.sql'
      )`,
    values: [],
  });
  return changed > 0;
}

/** Records how many statements of a file without a transaction have run, or that all have run. */
export async function recordProgress(
  connection: Connection,
  { name, sql, statements }: Pick<MigrationFile, "name" | "sql" | "statements">,
  done: number,
): Promise<void> {
  const checksum = done < statements.length ? `${unfinished} ${done}` : checksumOf(sql);
  const changes = `checksum = ${quoteText(checksum)}, sql = ${quoteText(sql)}`;
  const text = `UPDATE "${migrationsTable}" SET ${changes} WHERE name = ${quoteText(name)}`;
  await connection.query({ text, values: [] });
}

export function statementsDone({ checksum }: AppliedMigration): number | null {
  return checksum.startsWith(unfinished) ? Number(checksum.slice(unfinished.length)) : null;
}

export const unfinished = "unfinished";

export async function appliedMigrations(
  connection: Connection,
  dialect: Pick<Dialect, "parts">,
): Promise<readonly AppliedMigration[]> {
  const { relations } = engineOf({ dialect }).installed;
  const table = `FROM ${relations} WHERE name = '${migrationsTable}'`;
  if ((await selectNamed(connection, { found: "1" }, table)).length === 0) return [];
  return await selectNamed(
    connection,
    { name: cell.text("name"), checksum: cell.text("checksum") },
    `FROM "${migrationsTable}" ORDER BY number`,
  );
}

export function checksumOf(sql: string): string {
  return createHash("sha256").update(sql).digest("hex");
}
