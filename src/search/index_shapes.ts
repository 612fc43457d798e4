import type { Driver } from "../db/driver.ts";
import { engineOf } from "../db/engine/engine_of.ts";
import { rawSql, sql, toStatement } from "../sql/fragment.ts";

export interface IndexCreation {
  readonly name: string;
  readonly shape: string;
  /** The statements that drop and create the index's tables. */
  readonly creation: readonly string[];
}

/** The table that contains the names and the formats of a database's search indexes. */
const shapes = rawSql('"_service_search"');

/**
 * Creates the tables of an index, also in place of tables with another format, which can contain
 * words of columns that are hidden now. Returns true if all rows are already indexed.
 */
export async function prepareIndexTables(
  driver: Driver,
  { name, shape, creation }: IndexCreation,
): Promise<{ readonly isFilled: boolean }> {
  const { placeholder } = driver.dialect;
  const { searchLock } = engineOf(driver).catalog;
  return await driver.transaction(async (connection) => {
    // Without the lock, two processes that start together could both try to create the tables.
    if (searchLock !== null) await connection.query(searchLock);
    await connection.query(toStatement(
      sql`CREATE TABLE IF NOT EXISTS ${shapes} (name TEXT PRIMARY KEY, shape TEXT NOT NULL, filled INTEGER NOT NULL)`,
      placeholder,
    ));
    const select = sql`SELECT shape, filled FROM ${shapes} WHERE name = ${name}`;
    const { rows: [known] } = await connection.query(toStatement(select, placeholder));
    if (known?.[0] === shape) return { isFilled: Number(known[1]) === 1 };
    for (const text of creation) await connection.query({ text, values: [] });
    const note =
      sql`INSERT INTO ${shapes} (name, shape, filled) VALUES (${name}, ${shape}, 0) ON CONFLICT (name) DO UPDATE SET shape = excluded.shape, filled = 0`;
    await connection.query(toStatement(note, placeholder));
    return { isFilled: false };
  });
}

export async function markFilled(name: string, driver: Driver): Promise<void> {
  const note = sql`UPDATE ${shapes} SET filled = 1 WHERE name = ${name}`;
  await driver.query(toStatement(note, driver.dialect.placeholder));
}
