import type { TableInfo } from "../../schema/table_info.ts";
import { engineOf } from "../engine/engine_of.ts";
import type { TableOfDriver } from "./check_tables.ts";

/** Returns the tables whose definitions contain ON CONFLICT, such as ON CONFLICT REPLACE. */
export async function conflictTables(
  served: readonly TableOfDriver[],
): Promise<ReadonlySet<TableInfo>> {
  const byDriver = Map.groupBy(served, ({ driver }) => driver);
  const found = await Promise.all(
    [...byDriver].map(([driver, tables]) =>
      engineOf(driver).catalog.conflictTables(driver, tables.map(({ table }) => table))
    ),
  );
  return new Set(found.flat());
}
