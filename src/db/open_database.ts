import type { Observer } from "../runtime/observation.ts";
import type { Clock } from "../runtime/runtime.ts";
import { tableInfoOf, type TableLike } from "../schema/table_like.ts";
import { createTables } from "./create_tables.ts";
import { type DatabaseHandle, databaseHandle } from "./database_handle.ts";
import type { Driver } from "./driver.ts";
import type { Introspection, IntrospectOptions } from "./introspection.ts";
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

/** Options for opening a database of any engine. */
export interface OpenDatabaseOptions {
  /** Changes nothing and installs nothing: for a database of another program. */
  readonly readOnly?: boolean | undefined;
  /** How long a request waits for a lock or a connection. 5,000 by default. */
  readonly waitLimitMs?: number | undefined;
  /** The time of the machine by default. */
  readonly clock?: Clock | undefined;
  /** Receives notices: another driver had to be taken, a Postgres cannot be reached now. */
  readonly observe?: Observer | undefined;
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
  return database(typeof source === "string" ? await openDriver(source, options) : source);
}

function database(driver: Driver): Database {
  const introspect = driver.dialect.engine === "sqlite" ? introspectSqlite : introspectPostgres;
  return {
    ...databaseHandle(driver),
    driver,
    label: driver.label,
    createTables: (tables) => createTables(driver, tables.map(tableInfoOf)),
    introspect: (options = {}) => introspect(driver, options),
    close: () => driver.close(),
  };
}

type Opener = (location: string, options: OpenDatabaseOptions) => Promise<Driver>;

/**
 * Where the drivers are. Paths and not literal imports, nor types of them: Deno downloads the
 * packages of a literal import at every start, used or not.
 */
const drivers = {
  betterSqlite3: { file: "./sqlite/better_sqlite3_driver.ts", opener: "openBetterSqlite3" },
  nodeSqlite: { file: "./sqlite/node_sqlite_driver.ts", opener: "openNodeSqlite" },
  postgres: { file: "./postgres/postgres_js_driver.ts", opener: "openPostgres" },
  pglite: { file: "./postgres/pglite_driver.ts", opener: "openPglite" },
};

async function openDriver(url: string, options: OpenDatabaseOptions): Promise<Driver> {
  const [, scheme = "", rest = ""] = /^([a-z0-9+-]+):(.*)$/is.exec(url) ?? [];
  switch (scheme.toLowerCase()) {
    case "sqlite":
      return await openSqlite(pathOf(rest), options);
    case "node-sqlite":
      return await openBy(drivers.nodeSqlite, pathOf(rest), options);
    case "postgres":
    case "postgresql":
      return await openBy(drivers.postgres, url, options);
    case "pglite":
      return await openBy(drivers.pglite, pathOf(rest), options);
    default:
      if (scheme === "" && /^[^@]+$/.test(url)) {
        throw new Error(`Cannot open a database by "${url}": use sqlite:${url}`);
      }
      // The rest of the URL may hold a password.
      throw new Error(
        `Cannot open a database by "${scheme}:": use sqlite:PATH, sqlite::memory:, node-sqlite:PATH, postgres://USER@HOST/DATABASE, pglite:PATH or pglite::memory:`,
      );
  }
}

/** The path of `sqlite:notes.db`, and of the form with slashes that other programs write. */
function pathOf(rest: string): string {
  const path = rest.startsWith("//") ? rest.slice(2) : rest;
  if (path === "") throw new Error("Cannot open a database without a path: use sqlite:PATH");
  return path;
}

async function openBy(
  driver: { readonly file: string; readonly opener: string },
  location: string,
  options: OpenDatabaseOptions,
): Promise<Driver> {
  const module: unknown = await import(driver.file);
  // `drivers` names functions of that type; a test opens a database by each of them.
  const { [driver.opener]: open } = module as Record<string, Opener>;
  if (open === undefined) throw new Error(`${driver.file} has no ${driver.opener}`);
  return await open(location, options);
}

async function openSqlite(path: string, options: OpenDatabaseOptions): Promise<Driver> {
  const driver = await canLoadAddon(options) ? drivers.betterSqlite3 : drivers.nodeSqlite;
  return await openBy(driver, path, options);
}

/** Whether the native part of better-sqlite3 works on this machine; a notice where it does not. */
async function canLoadAddon(options: OpenDatabaseOptions): Promise<boolean> {
  try {
    const module: unknown = await import(drivers.betterSqlite3.file);
    // The driver exports it for this purpose alone.
    (module as { loadAddon: () => void }).loadAddon();
    return true;
  } catch (error) {
    const message = `better-sqlite3 cannot be loaded, node:sqlite takes its place: ${error}`;
    options.observe?.({ kind: "notice", message });
    return false;
  }
}
