import type { Driver } from "../driver.ts";
import { nodeSqlite } from "./node_sqlite_library.ts";
import { sqliteDriver, type SqliteOptions } from "./sqlite_driver.ts";

export type { SqliteOptions };

/**
 * Opens the driver of a SQLite file with `node:sqlite`, the library that is built into Deno:
 * nothing to install. The library cuts text at a NUL character when it reads, so that text with one
 * is refused.
 */
export function openNodeSqlite(path: string, options: SqliteOptions = {}): Promise<Driver> {
  return sqliteDriver(nodeSqlite, path, options);
}
