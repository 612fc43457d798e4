/**
 * The driver for SQLite files with the library better-sqlite3. `openDatabase` loads it for the URL
 * `sqlite:PATH`. Import the driver to pass options to it, or so that a tool includes the library.
 *
 * @example
 * ```ts ignore
 * import { openDatabase } from "@svc/resource-api";
 * import { openBetterSqlite3 } from "@svc/resource-api/better-sqlite3";
 *
 * const db = await openDatabase(await openBetterSqlite3("shop.db", { readOnly: true }));
 * ```
 *
 * @module
 */
export {
  openBetterSqlite3,
  openBetterSqlite3OfClient,
} from "../src/engines/sqlite/driver/better_sqlite3_driver.ts";
