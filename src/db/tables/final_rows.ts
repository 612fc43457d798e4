import type { TableInfo } from "../../schema/table_info.ts";
import { DatabaseError } from "../database_error.ts";
import type { Driver } from "../driver.ts";
import { engineOf } from "../engine/engine_of.ts";
import type { TableOfDriver } from "./check_tables.ts";

/**
 * Returns the tables in which no trigger or rule changes a row after the statement that wrote and
 * returned it. Returns none for an unreachable database.
 */
export async function tablesWithFinalRows(
  served: readonly TableOfDriver[],
): Promise<readonly TableInfo[]> {
  const byDriver = Map.groupBy(served, ({ driver }) => driver);
  const found = await Promise.all(
    [...byDriver].map(([driver, tables]) => finalOf(driver, tables.map(({ table }) => table))),
  );
  return found.flat();
}

async function finalOf(
  driver: Driver,
  tables: readonly TableInfo[],
): Promise<readonly TableInfo[]> {
  const { tablesWithLaterChanges } = engineOf(driver).catalog;
  if (tablesWithLaterChanges === null) return [];
  try {
    const { rows } = await driver.query({ text: tablesWithLaterChanges, values: [] });
    const changed = new Set(rows.map((row) => JSON.stringify(row)));
    return tables.filter(({ schema, name }) => !changed.has(JSON.stringify([schema, name])));
  } catch (error) {
    if (error instanceof DatabaseError) return [];
    throw error;
  }
}
