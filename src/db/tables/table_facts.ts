import type { ColumnInfo, TableInfo } from "../../schema/table_info.ts";
import { DatabaseError } from "../database_error.ts";
import type { Driver } from "../driver.ts";
import { engineOf } from "../engine/engine.ts";
import type { TableOfDriver } from "./check_tables.ts";

/** Facts about tables that only the database knows. {@link addTableFacts} fills the sets. */
export interface TableFacts {
  readonly indexed: Set<ColumnInfo>;
  /** The tables whose definitions contain ON CONFLICT, such as ON CONFLICT REPLACE. */
  readonly conflicting: Set<TableInfo>;
  /** The tables in which no trigger or rule changes a row after the statement that writes it. */
  readonly final: Set<TableInfo>;
  /** The tables in which no trigger or rule changes anything if a statement writes no row. */
  readonly withoutEffects: Set<TableInfo>;
}

export function emptyTableFacts(): TableFacts {
  return {
    indexed: new Set(),
    conflicting: new Set(),
    final: new Set(),
    withoutEffects: new Set(),
  };
}

/** Adds the facts about tables. Nothing relies on a fact of an unreachable database. */
export async function addTableFacts(
  served: readonly TableOfDriver[],
  facts: TableFacts,
): Promise<void> {
  const byDriver = Map.groupBy(served, ({ driver }) => driver);
  for (const [driver, some] of byDriver) {
    await addFactsOf(driver, some.map(({ table }) => table), facts);
  }
}

async function addFactsOf(
  driver: Driver,
  tables: readonly TableInfo[],
  { indexed, conflicting, final, withoutEffects }: TableFacts,
): Promise<void> {
  const { catalog } = engineOf(driver);
  for (const table of await catalog.conflictTables(driver, tables)) conflicting.add(table);
  const leading = await listed(driver.dialect.leadingColumns, driver);
  const changing = await listed(catalog.tablesWithLaterChanges, driver);
  const affecting = await listed(catalog.tablesWithEffectsAlone, driver);
  for (const table of tables) {
    const { schema, name, columns, primaryKey } = table;
    if (changing?.has(JSON.stringify([schema, name])) === false) final.add(table);
    if (affecting?.has(JSON.stringify([schema, name])) === false) withoutEffects.add(table);
    for (const column of leading === null ? [] : columns) {
      const isFirst = leading?.has(JSON.stringify([schema, name, column.dbName]));
      if (isFirst || column === primaryKey[0]) indexed.add(column);
    }
  }
}

/** Returns the rows of a query as JSON, or null without a query or for an unreachable database. */
async function listed(text: string | null, driver: Driver): Promise<ReadonlySet<string> | null> {
  if (text === null) return null;
  try {
    const { rows } = await driver.query({ text, values: [] });
    return new Set(rows.map((row) => JSON.stringify(row)));
  } catch (error) {
    if (error instanceof DatabaseError) return null;
    throw error;
  }
}
