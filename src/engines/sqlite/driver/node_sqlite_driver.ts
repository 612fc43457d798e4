import type { Driver } from "../../../db/driver.ts";
import type { DriverOptions, SqliteAdditions, SqliteOptions } from "../../../db/driver_options.ts";
import { nodeSqlite, pathOfNodeSqlite } from "./node_sqlite_library.ts";
import { requireFileOfClient } from "./sqlite_file.ts";
import { sqliteDriver } from "./sqlite_driver.ts";

export type { DriverOptions, SqliteAdditions, SqliteOptions };

/**
 * Opens the driver of a SQLite file with `node:sqlite`, which is built into Deno and needs no
 * installation. When this library reads a string, it truncates the string at a NUL character.
 * Therefore strings with a NUL are rejected.
 */
export function openNodeSqlite(path: string, options: SqliteOptions = {}): Promise<Driver> {
  return sqliteDriver(nodeSqlite, path, options);
}

/**
 * Opens the driver of the file that a client of `node:sqlite` has open, with separate connections.
 * The client stays open when the driver closes.
 */
export async function openNodeSqliteOfClient(
  client: object,
  options: SqliteOptions = {},
): Promise<Driver> {
  const path = requireFileOfClient(pathOfNodeSqlite(client));
  return await sqliteDriver(nodeSqlite, path, options);
}
