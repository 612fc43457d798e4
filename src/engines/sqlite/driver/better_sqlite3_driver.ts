import type { Driver } from "../../../db/driver.ts";
import type { SqliteOptions } from "../../../db/driver_options.ts";
import { betterSqlite3, loadAddon, pathOfBetterSqlite3 } from "./better_sqlite3_library.ts";
import { requireFileOfClient } from "./sqlite_file.ts";
import { openSqliteFile } from "./open_sqlite_file.ts";

export { loadAddon };

/**
 * Opens the driver of a SQLite file with better-sqlite3, the fastest of the SQLite libraries.
 *
 * @example
 * ```ts ignore
 * import { openDatabase } from "@svc/resource-api";
 * import { openBetterSqlite3 } from "@svc/resource-api/better-sqlite3";
 *
 * const db = await openDatabase(await openBetterSqlite3("shop.db"));
 * ```
 */
export function openBetterSqlite3(path: string, options: SqliteOptions = {}): Promise<Driver> {
  return openSqliteFile(betterSqlite3, path, options);
}

/** Opens separate connections to the file that `client` has open. `client` itself stays open. */
export async function openBetterSqlite3OfClient(
  client: object,
  options: SqliteOptions = {},
): Promise<Driver> {
  const path = requireFileOfClient(pathOfBetterSqlite3(client));
  return await openSqliteFile(betterSqlite3, path, options);
}
