import type { TableInfo } from "../schema/table_info.ts";
import { tableInfoOf, type TableLike } from "../schema/table_like.ts";
import { createTables } from "./tables/create_tables.ts";
import { type DatabaseHandle, databaseHandle } from "./database_handle.ts";
import type { Driver } from "./driver.ts";
import { withFilePermission } from "./file_permission.ts";
import { type Introspection, type IntrospectOptions, introspectOptions } from "./introspection.ts";
import { type OpenDatabaseOptions, openDriver } from "./open_driver.ts";
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
  /** Describes the existing tables, and which were left out and why. */
  introspect(options?: IntrospectOptions): Promise<Introspection>;
  /** Waits for running transactions, then closes the database. A second call does nothing. */
  close(): Promise<void>;
}

/**
 * Opens a database by URL: `sqlite:PATH`, `sqlite::memory:`, `node-sqlite:…` (the library built
 * into Deno), `postgres://…`, `pglite:PATH`, `pglite::memory:`; or takes a driver. Throws an Error
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
  source: string | Driver,
  options: OpenDatabaseOptions = {},
): Promise<Database> {
  if (typeof source !== "string") return database(source);
  return database(await withFilePermission(source, options, () => openDriver(source, options)));
}

function database(driver: Driver): Database {
  const introspect = driver.dialect.engine === "sqlite" ? introspectSqlite : introspectPostgres;
  return {
    ...databaseHandle(driver),
    driver,
    label: driver.label,
    createTables: async (tables) => await createTables(driver, listOf(tables).map(creatable)),
    introspect: async (options = {}) => {
      const place = { subject: "Cannot introspect the database", path: "" };
      return await introspect(driver, introspectOptions.read(options, place));
    },
    close: () => driver.close(),
  };
}

/** Refuses a table whose columns have types of their own, which `CREATE TABLE` here would not give. */
function creatable(table: TableLike<unknown, unknown>): TableInfo {
  const info = tableInfoOf(table);
  if (info.own) return info;
  throw new Error(
    `Cannot create "${info.name}": it was made by Drizzle, whose migrations create it: run drizzle-kit`,
  );
}

/** Refuses one table that is not in a list, for programs that are not checked. */
function listOf<T>(tables: readonly T[]): readonly T[] {
  if (Array.isArray(tables)) return tables;
  throw new Error("Cannot create the tables: list them, as in db.createTables([notes])");
}
