import type { TableInfo } from "../schema/table_info.ts";
import { systemRuntime } from "../runtime/system_runtime.ts";
import { tableInfoOf, type TableLike } from "../schema/table_like.ts";
import { createTables } from "./tables/create_tables.ts";
import { type DatabaseHandle, databaseHandle } from "./database_handle.ts";
import type { Driver } from "./driver.ts";
import { type DrizzleDatabase, isDrizzleDatabase } from "./drizzle/drizzle_database.ts";
import { openDrizzle } from "./drizzle/open_drizzle.ts";
import { withFilePermission } from "./file_permission.ts";
import { type Introspection, type IntrospectOptions, introspectOptions } from "./introspection.ts";
import { type OpenDatabaseOptions, openDriver } from "./open_driver.ts";
import type { Migration } from "./migrations/migrate_tables.ts";
import { type MigrateOptions, migrateOptions } from "./migrations/migrate_options.ts";
import { introspectPostgres } from "./postgres/introspect_postgres.ts";
import { introspectSqlite } from "./sqlite/introspect_sqlite.ts";

/** An open database that resources can be served from. */
export interface Database extends DatabaseHandle {
  /** The driver of its library. */
  readonly driver: Driver;
  /** For messages: the scheme and the path or host, never a password. */
  readonly label: string;
  /** Creates the missing tables, all or none; existing tables stay as they are. */
  createTables(tables: readonly TableLike<unknown, unknown>[]): Promise<void>;
  /**
   * Makes the database as the tables are declared: adds what is missing and changes what differs, in
   * one transaction, and gives what was done. What loses values needs to be named in `allowDrop`.
   * Throws an Error that says what stands in the way.
   *
   * @example
   * ```ts
   * import { integer, openDatabase, table, text } from "@svc/resource-api";
   *
   * const notes = table("notes", { id: integer().primaryKey(), title: text() });
   * const db = await openDatabase("sqlite::memory:");
   * const { steps } = await db.migrate([notes]);
   * console.log(steps.map(({ sql }) => sql)); // ["CREATE TABLE …"]
   * await db.close();
   * ```
   */
  migrate(
    tables: readonly TableLike<unknown, unknown>[],
    options?: MigrateOptions,
  ): Promise<Migration>;
  /** Describes the existing tables, and which were left out and why. */
  introspect(options?: IntrospectOptions): Promise<Introspection>;
  /** Waits for running transactions, then closes the database. A second call does nothing. */
  close(): Promise<void>;
}

/**
 * Opens a database by URL: `sqlite:PATH`, `sqlite::memory:`, `node-sqlite:…` (the library built
 * into Deno), `postgres://…`, `pglite:PATH`, `pglite::memory:`; or takes a driver, or a database of
 * Drizzle, whose file or server it opens. Throws an Error
 * that says what to do when the URL is wrong, and a `DatabaseError` when the database refuses. A
 * Postgres that cannot be reached now is opened all the same, with a notice.
 *
 * @example
 * ```ts
 * import { openDatabase } from "@svc/resource-api";
 *
 * const db = await openDatabase("sqlite::memory:");
 * await db.close();
 * ```
 */
export async function openDatabase(
  source: string | Driver | DrizzleDatabase,
  options: OpenDatabaseOptions = {},
): Promise<Database> {
  if (isDrizzleDatabase(source)) return database(await openDrizzle(source, options));
  if (typeof source !== "string") return database(source);
  return database(await withFilePermission(source, options, () => openDriver(source, options)));
}

function database(driver: Driver): Database {
  const introspect = driver.dialect.engine === "sqlite" ? introspectSqlite : introspectPostgres;
  return {
    ...databaseHandle(driver),
    driver,
    label: driver.label,
    createTables: async (tables) => await createTables(driver, declared(tables, "createTables")),
    migrate: async (tables, options = {}) => {
      const { migrateTables } = await import("./migrations/migrate_tables.ts");
      const place = { subject: "Cannot migrate", path: "" };
      const { random } = systemRuntime(() => {});
      const infos = declared(tables, "migrate");
      const read = migrateOptions.read(options, place);
      return await migrateTables({ ...read, driver, tables: infos, random, agreed: null });
    },
    introspect: async (options = {}) => {
      const place = { subject: "Cannot introspect the database", path: "" };
      return await introspect(driver, introspectOptions.read(options, place));
    },
    close: () => driver.close(),
  };
}

/**
 * The descriptions of declared tables. Refuses one table that is not in a list, for programs that are
 * not checked, and tables whose columns have types of their own, which `CREATE TABLE` here would not
 * give.
 */
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
