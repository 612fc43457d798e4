import type { TableInfo } from "../../schema/table_info.ts";
import { DatabaseError } from "../database_error.ts";
import type { Driver } from "../driver.ts";
import { engineOf } from "../engine/engine_of.ts";
import type { TableOfDriver } from "./check_tables.ts";

/**
 * Returns the tables in which a row stays as a statement has written and returned it, because no
 * trigger or rule changes it afterwards. Returns none for an unreachable database.
 */
export function tablesWithFinalRows(
  served: readonly TableOfDriver[],
): Promise<readonly TableInfo[]> {
  return tablesWithout("tablesWithLaterChanges", served);
}

/**
 * Returns the tables in which no trigger or rule changes anything if a statement writes no row.
 * Returns none for an unreachable database.
 */
export function tablesUnchangedByEmptyWrite(
  served: readonly TableOfDriver[],
): Promise<readonly TableInfo[]> {
  return tablesWithout("tablesWithEffectsAlone", served);
}

type TableQuery = "tablesWithLaterChanges" | "tablesWithEffectsAlone";

async function tablesWithout(
  query: TableQuery,
  served: readonly TableOfDriver[],
): Promise<readonly TableInfo[]> {
  const byDriver = Map.groupBy(served, ({ driver }) => driver);
  const found = await Promise.all(
    [...byDriver].map(([driver, tables]) =>
      tablesOf(driver, tables.map(({ table }) => table), query)
    ),
  );
  return found.flat();
}

async function tablesOf(
  driver: Driver,
  tables: readonly TableInfo[],
  query: TableQuery,
): Promise<readonly TableInfo[]> {
  const text = engineOf(driver).catalog[query];
  if (text === null) return [];
  try {
    const { rows } = await driver.query({ text, values: [] });
    const changed = new Set(rows.map((row) => JSON.stringify(row)));
    return tables.filter(({ schema, name }) => !changed.has(JSON.stringify([schema, name])));
  } catch (error) {
    if (error instanceof DatabaseError) return [];
    throw error;
  }
}
