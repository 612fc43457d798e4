import type { Driver } from "../../../db/driver.ts";
import type { SqliteOptions } from "../../../db/driver_options.ts";
import { nodeSqlite, pathOfNodeSqlite } from "./node_sqlite_library.ts";
import { requireFileOfClient } from "./sqlite_file.ts";
import { openSqliteFile } from "./open_sqlite_file.ts";

/** Opens a file with `node:sqlite`. Rejects strings with NUL, which the library would truncate. */
export function openNodeSqlite(path: string, options: SqliteOptions = {}): Promise<Driver> {
  return openSqliteFile(nodeSqlite, path, options);
}

/** Opens separate connections to the file that `client` has open. `client` itself stays open. */
export async function openNodeSqliteOfClient(
  client: object,
  options: SqliteOptions = {},
): Promise<Driver> {
  const path = requireFileOfClient(pathOfNodeSqlite(client));
  return await openSqliteFile(nodeSqlite, path, options);
}
