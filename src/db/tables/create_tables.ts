import type { TableInfo } from "../../schema/table_info.ts";
import { createTableStatements, inCreationOrder } from "../../sql/create_table.ts";
import type { Statement } from "../../sql/fragment.ts";
import type { Driver } from "../driver.ts";

/**
 * Creates the missing tables in a database, all or none; existing tables stay as they are. Runs
 * `more` after them, in the same transaction.
 */
export async function createTables(
  driver: Driver,
  tables: readonly TableInfo[],
  more: readonly Statement[] = [],
): Promise<void> {
  const statements = inCreationOrder(tables)
    .flatMap((table) => createTableStatements(table, driver.dialect));
  await driver.transaction(async (connection) => {
    // Two processes that start together would both find a table missing, and one would fail.
    if (driver.dialect.engine === "postgres") await connection.query(creationLock);
    for (const statement of [...statements, ...more]) await connection.query(statement);
  });
}

/** The number is arbitrary, and the same in every process of the service. */
const creationLock = { text: "SELECT pg_advisory_xact_lock(7237120945)", values: [] };
