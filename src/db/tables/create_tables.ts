import type { TableInfo } from "../../schema/table_info.ts";
import { createTableStatements, inCreationOrder } from "../../sql/create_table.ts";
import type { Dialect } from "../../sql/dialect.ts";
import type { Statement } from "../../sql/fragment.ts";
import type { Connection, Driver } from "../driver.ts";

/**
 * Creates the missing tables in a database, all or none; existing tables stay as they are. Runs
 * `more` after them, in the same transaction.
 */
export async function createTables(
  driver: Driver,
  tables: readonly TableInfo[],
  more: readonly Statement[] = [],
): Promise<void> {
  const { dialect } = driver;
  const ordered = inCreationOrder(tables).map((table) => ({
    table,
    statements: createTableStatements(table, dialect),
  }));
  requireDistinctIndexes(tables);
  const created = await driver.transaction(async (connection) => {
    const done: TableInfo[] = [];
    // Two processes that start together would both find a table missing, and one would fail.
    if (dialect.engine === "postgres") await connection.query(creationLock);
    for (const { table, statements } of ordered) {
      // An older table may lack the columns of an index.
      if (await isThere(table, connection, dialect)) continue;
      for (const statement of statements) await connection.query(statement);
      done.push(table);
    }
    for (const statement of more) await connection.query(statement);
    return done;
  });
  for (const table of created) driver.created?.add(table);
}

async function isThere(
  { schema, name }: TableInfo,
  connection: Connection,
  dialect: Dialect,
): Promise<boolean> {
  const statement = dialect.engine === "postgres"
    ? {
      text: `SELECT 1 FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
        WHERE n.nspname = coalesce($1, current_schema()) AND c.relname = $2`,
      values: [schema, name],
    }
    : {
      text: `SELECT 1 FROM sqlite_schema
        WHERE type IN ('table', 'view') AND name = ? COLLATE NOCASE`,
      values: [name],
    };
  return (await connection.query(statement)).rows.length > 0;
}

/** Indexes of a schema share their names, and `a_b` of `c` has the same one as `a` of `b_c`. */
function requireDistinctIndexes(tables: readonly TableInfo[]): void {
  const owners = new Map<string, string>();
  for (const table of tables) {
    for (const { name } of table.indexes) {
      const folded = `${table.schema ?? ""}.${name}`.toLowerCase();
      const other = owners.get(folded);
      if (other !== undefined) {
        throw new Error(
          `Cannot create the index "${name}" of "${table.name}": one of "${other}" has this name: ` +
            `give one of them another by index(…).as("…")`,
        );
      }
      owners.set(folded, table.name);
    }
  }
}

/** The number is arbitrary, and the same in every process of the service. */
const creationLock = { text: "SELECT pg_advisory_xact_lock(7237120945)", values: [] };
