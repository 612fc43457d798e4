import type { TableInfo } from "../../../schema/table_info.ts";
import { quoteIdentifier } from "../../../sql/fragment.ts";
import { DatabaseError, reasonOf } from "../../../db/database_error.ts";
import type { Connection } from "../../../db/driver.ts";
import { selectNamed } from "../../../db/named_columns.ts";

/** The state of a file's references and views. A rebuild must not break any that were intact. */
export interface FileIntegrity {
  /** The number of rows that refer to a missing row. */
  readonly broken: number;
  /** The references to missing tables, such as `notes refers to users`. */
  readonly dangling: ReadonlySet<string>;
  readonly views: ReadonlySet<string>;
}

/** Reads which references are broken and which views are readable, before a migration. */
export async function readFileIntegrity(connection: Connection): Promise<FileIntegrity> {
  const views = await selectNamed(
    connection,
    { name: "name" },
    "FROM main.sqlite_schema WHERE type = 'view'",
  );
  const readable = new Set<string>();
  for (const { name } of views) {
    if (await whyNot(connection, readNothing(String(name))) === null) readable.add(String(name));
  }
  return {
    broken: await brokenReferences(connection),
    dangling: await danglingTables(connection),
    views: readable,
  };
}

/**
 * Checks the foreign keys, views and triggers of rebuilt tables, which SQLite does not check.
 * Throws an Error that names the broken part, and the SQL file `file` that broke it.
 */
export async function requireFileIntegrity(
  connection: Connection,
  before: FileIntegrity,
  tables: readonly TableInfo[],
  file: string | null = null,
): Promise<void> {
  const refused = (reason: string) =>
    new Error(`Cannot migrate: ${file === null ? "" : `${file}: `}${reason}`);
  for (const reference of await danglingTables(connection)) {
    if (before.dangling.has(reference)) continue;
    throw refused(`${reference}, which would not be there any more`);
  }
  if (await brokenReferences(connection) > before.broken) {
    throw refused("rows would refer to rows that are not there");
  }
  for (const name of before.views) {
    const reason = await whyNot(connection, readNothing(name));
    if (reason === null) continue;
    throw refused(`the view ${name} would not work any more: ${reason}`);
  }
  for (const { name } of tables) {
    const reason = await whyNot(connection, `EXPLAIN DELETE FROM ${quoteIdentifier(name)}`) ??
      await whyNot(connection, `EXPLAIN INSERT INTO ${quoteIdentifier(name)} DEFAULT VALUES`);
    if (reason === null) continue;
    throw refused(`a trigger of ${name} would not work any more: ${reason}`);
  }
}

async function brokenReferences(connection: Connection): Promise<number> {
  const [row] = await selectNamed(
    connection,
    { count: "count(*)" },
    "FROM pragma_foreign_key_check",
  );
  return Number(row?.count);
}

async function danglingTables(connection: Connection): Promise<ReadonlySet<string>> {
  const rows = await selectNamed(
    connection,
    { from: "t.name", to: `k."table"` },
    `FROM main.sqlite_schema AS t, pragma_foreign_key_list(t.name) AS k
     WHERE t.type = 'table' AND NOT EXISTS (
       SELECT 1 FROM main.sqlite_schema AS p
       WHERE p.type = 'table' AND p.name = k."table" COLLATE NOCASE
     )`,
  );
  return new Set(rows.map(({ from, to }) => `${from} refers to ${to}`));
}

function readNothing(view: string): string {
  return `SELECT 1 FROM ${quoteIdentifier(view)} LIMIT 0`;
}

async function whyNot(connection: Connection, text: string): Promise<string | null> {
  try {
    await connection.query({ text, values: [] });
    return null;
  } catch (error) {
    if (error instanceof DatabaseError) return reasonOf(error);
    throw error;
  }
}
