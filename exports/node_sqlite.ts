/**
 * The driver for SQLite files with `node:sqlite`, the SQLite of Deno, Node and Bun. `openDatabase`
 * loads it for the URL `node-sqlite:PATH`. Import the driver for a bundle.
 *
 * @example
 * ```ts
 * import { openDatabase } from "@svc/resource-api";
 * import { openNodeSqlite } from "@svc/resource-api/node-sqlite";
 *
 * const db = await openDatabase(await openNodeSqlite(":memory:"));
 * const { rows } = await db.sql`SELECT ${1} AS one`;
 * console.log(rows); // [ { one: 1 } ]
 * await db.close();
 * ```
 *
 * @module
 */
export {
  openNodeSqlite,
  openNodeSqliteOfClient,
} from "../src/engines/sqlite/driver/node_sqlite_driver.ts";
