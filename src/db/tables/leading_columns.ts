import type { ColumnInfo, TableInfo } from "../../schema/table_info.ts";
import type { TableOfDriver } from "./check_tables.ts";
import { DatabaseError } from "../database_error.ts";
import type { Driver } from "../driver.ts";

/**
 * Returns the columns that are first in an index of their table. Returns none for an unreachable
 * database, so that no read relies on an index.
 */
export async function leadingColumns(
  served: readonly TableOfDriver[],
): Promise<ReadonlySet<ColumnInfo>> {
  const byDriver = Map.groupBy(served, ({ driver }) => driver);
  const found = await Promise.all(
    [...byDriver].map(([driver, tables]) => columnsOf(driver, tables.map(({ table }) => table))),
  );
  return new Set(found.flat());
}

async function columnsOf(
  driver: Driver,
  tables: readonly TableInfo[],
): Promise<readonly ColumnInfo[]> {
  try {
    const { rows } = await driver.query({ text: driver.dialect.leadingColumns, values: [] });
    const indexed = new Set(rows.map((row) => JSON.stringify(row)));
    return tables.flatMap(({ schema, name, columns, primaryKey }) =>
      columns.filter((column) =>
        column === primaryKey[0] || indexed.has(JSON.stringify([schema, name, column.dbName]))
      )
    );
  } catch (error) {
    if (error instanceof DatabaseError) return [];
    throw error;
  }
}
