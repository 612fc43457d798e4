import type { Driver } from "../driver.ts";
import { betterSqlite3, loadAddon } from "./better_sqlite3_library.ts";
import { sqliteDriver, type SqliteOptions } from "./sqlite_driver.ts";

export { loadAddon, type SqliteOptions };

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
  return sqliteDriver(betterSqlite3, path, options);
}
