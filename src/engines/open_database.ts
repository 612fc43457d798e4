import type { TableInfo } from "../schema/table_info.ts";
import { systemRuntime } from "../runtime/system_runtime.ts";
import { tableInfoOf, type TableLike } from "../schema/table_like.ts";
import { createTables } from "../db/tables/create_tables.ts";
import { databaseHandle } from "../db/database_handle.ts";
import type { Driver } from "../db/driver.ts";
import { type DrizzleDatabase, isDrizzleDatabase } from "../db/drizzle/drizzle_database.ts";
import { openDrizzle } from "./drizzle/open_drizzle.ts";
import { withFilePermission } from "../db/file_permission.ts";
import { introspectOptionRules } from "../db/introspection.ts";
import { type OpenDatabaseOptions, openDriver } from "./open_driver.ts";
import { type PostgresServers, urlOfServers } from "./server_url.ts";
import { migrateOptionRules } from "../db/migrations/migrate_options.ts";
import type { Database } from "../db/database.ts";
import { engineOf } from "../db/engine/engine.ts";

/**
 * Opens a database by URL: `sqlite:PATH`, `sqlite::memory:`, `node-sqlite:…` (the library built
 * into Deno), `postgres://…`, `pglite:PATH`, `pglite::memory:`. Instead of a URL, it accepts a
 * driver, or a Drizzle database: then it opens the same file or server. If a Postgres server cannot
 * be reached, `openDatabase` does not throw: it logs a notice and connects later.
 *
 * @throws {Error} If the URL is wrong. The message says what to do.
 * @throws {DatabaseError} If the database rejects the connection.
 * @example
 * ```ts
 * import { openDatabase } from "@svc/resource-api";
 *
 * const db = await openDatabase("sqlite::memory:");
 * await db.close();
 * ```
 */
export async function openDatabase(
  source: string | PostgresServers | Driver | DrizzleDatabase,
  options: OpenDatabaseOptions = {},
): Promise<Database> {
  if (typeof source === "object" && "primary" in source) {
    return await openDatabase(urlOfServers(source), options);
  }
  if (isDrizzleDatabase(source)) return database(await openDrizzle(source, options));
  if (typeof source !== "string") return database(source);
  return database(await withFilePermission(source, options, () => openDriver(source, options)));
}

function database(driver: Driver): Database {
  return {
    ...databaseHandle(driver),
    driver,
    label: driver.label,
    createTables: async (tables) => await createTables(driver, declared(tables, "createTables")),
    migrate: async (tables, options = {}) => {
      const { migrateTables, requireAllowed } = await import("../db/migrations/migrate_tables.ts");
      const place = { subject: "Cannot migrate", path: "" };
      const { random } = systemRuntime(() => {});
      const infos = declared(tables, "migrate");
      const read = migrateOptionRules.read(options, place);
      const done = await migrateTables({ ...read, driver, tables: infos, random, agreed: null });
      requireAllowed(done);
      return done;
    },
    introspect: async (options = {}) => {
      const place = { subject: "Cannot introspect the database", path: "" };
      return await engineOf(driver).catalog.introspect(
        driver,
        introspectOptionRules.read(options, place),
      );
    },
    close: () => driver.close(),
  };
}

/** Throws for a missing list, and for tables of Drizzle, which Drizzle's migrations create. */
function declared(
  tables: readonly TableLike<unknown, unknown>[],
  method: "createTables" | "migrate",
): readonly TableInfo[] {
  const verb = method === "migrate" ? "migrate" : "create";
  if (!Array.isArray(tables)) {
    throw new Error(`Cannot ${verb} the tables: list them, as in db.${method}([notes])`);
  }
  const infos = tables.map(tableInfoOf);
  const foreign = infos.find(({ own }) => !own);
  if (foreign === undefined) return infos;
  throw new Error(
    `Cannot ${verb} "${foreign.name}": it was made by Drizzle, whose migrations create it: run drizzle-kit`,
  );
}
