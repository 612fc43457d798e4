import type { Observer } from "../runtime/observation.ts";
import type { Clock } from "../runtime/runtime.ts";
import { readTableInfo, type TableLike } from "../schema/define.ts";
import { createTableStatements, inCreationOrder } from "../sql/create_table.ts";
import type { Dialect } from "../sql/dialect.ts";
import type { Driver } from "./driver.ts";
import type { Introspection, IntrospectOptions } from "./introspection.ts";
import { introspectPostgres } from "./introspect_postgres.ts";
import { introspectSqlite } from "./introspect_sqlite.ts";

/** A database that resources can be served from. */
export interface Database {
  /** Runs statements and transactions. */
  readonly driver: Driver;
  /** What its engine does in its own way. */
  readonly dialect: Dialect;
  /** What to show a person: scheme and place, never a password. */
  readonly label: string;
  /** Creates the tables that are not there, all or none; those that are there stay as they are. */
  createTables(tables: readonly TableLike<unknown, unknown>[]): Promise<void>;
  /** Describes the tables that are there, and says which were left out and why. */
  introspect(options?: IntrospectOptions): Promise<Introspection>;
  /** Lets running transactions end, then lets go of the database. A second call does nothing. */
  close(): Promise<void>;
}

/** How a database is opened. */
export interface OpenDatabaseOptions {
  /** Changes nothing and installs nothing: for a database that belongs to somebody else. */
  readonly readOnly?: boolean | undefined;
  /** How long a request waits for a lock or a connection. 5,000 by default. */
  readonly waitLimitMs?: number | undefined;
  /** The time of the machine by default. */
  readonly clock?: Clock | undefined;
  /** Told when another driver had to be taken. */
  readonly observe?: Observer | undefined;
}

/**
 * Opens a database by URL: `sqlite:PATH`, `sqlite::memory:`, `node-sqlite:…` (the library built
 * into Deno), `postgres://…`, `pglite:PATH`, `pglite::memory:`; or takes a driver. Throws an Error
 * that says what to do when the URL is wrong, and a `DatabaseError` when the database fails.
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
    driver,
    dialect: driver.dialect,
    label: driver.label,
    createTables: (tables) => createTables(driver, tables),
    introspect: (options = {}) => introspect(driver, options),
    close: () => driver.close(),
  };
}

async function createTables(
  driver: Driver,
  tables: readonly TableLike<unknown, unknown>[],
): Promise<void> {
  const ordered = inCreationOrder(tables.map(readTableInfo));
  const statements = ordered.flatMap((table) => createTableStatements(table, driver.dialect));
  await driver.transaction(async (connection) => {
    // Two processes that start together would both find a table missing, and one would fail.
    if (driver.dialect.engine === "postgres") await connection.query(creationLock);
    for (const statement of statements) await connection.query(statement);
  });
}

/** A number that only has to be the same in every process of the service. */
const creationLock = { text: "SELECT pg_advisory_xact_lock(7237120945)", values: [] };

/**
 * Paths and not literal imports: Deno downloads whatever a literal import names at every start,
 * used or not.
 */
const modules = {
  betterSqlite3: "./better_sqlite3_driver.ts",
  nodeSqlite: "./node_sqlite_driver.ts",
  postgres: "./postgres_driver.ts",
  pglite: "./pglite_driver.ts",
};

function openDriver(url: string, options: OpenDatabaseOptions): Promise<Driver> {
  const [, scheme = "", rest = ""] = /^([a-z0-9+-]+):(.*)$/is.exec(url) ?? [];
  switch (scheme.toLowerCase()) {
    case "sqlite":
      return openSqlite(pathOf(rest), options);
    case "node-sqlite":
      return openNodeSqlite(pathOf(rest), options);
    case "postgres":
    case "postgresql":
      return openPostgres(url, options);
    case "pglite":
      return openPglite(pathOf(rest), options);
    default:
      // The rest of the URL may hold a password.
      throw new Error(
        `Cannot open a database by "${scheme}:": use sqlite:PATH, sqlite::memory:, node-sqlite:PATH, postgres://USER@HOST/DATABASE, pglite:PATH or pglite::memory:`,
      );
  }
}

/** `sqlite:notes.db`, and the form with slashes that other programs write. */
function pathOf(rest: string): string {
  const path = rest.startsWith("//") ? rest.slice(2) : rest;
  if (path === "") throw new Error("Cannot open a database without a path: use sqlite:PATH");
  return path;
}

async function openSqlite(path: string, options: OpenDatabaseOptions): Promise<Driver> {
  const module = await loadBetterSqlite3(options);
  return module === null ? openNodeSqlite(path, options) : module.openBetterSqlite3(path, options);
}

/** Null, and a notice, where the native part cannot be loaded. */
async function loadBetterSqlite3(options: OpenDatabaseOptions) {
  try {
    // The table names that very module.
    const module = await import(
      modules.betterSqlite3
    ) as typeof import("./better_sqlite3_driver.ts");
    module.loadAddon();
    return module;
  } catch (error) {
    const message = `better-sqlite3 cannot be loaded, node:sqlite takes its place: ${error}`;
    options.observe?.({ kind: "notice", message });
    return null;
  }
}

async function openNodeSqlite(path: string, options: OpenDatabaseOptions): Promise<Driver> {
  // The table names that very module.
  const module = await import(modules.nodeSqlite) as typeof import("./node_sqlite_driver.ts");
  return module.openNodeSqlite(path, options);
}

async function openPostgres(url: string, options: OpenDatabaseOptions): Promise<Driver> {
  // The table names that very module.
  const module = await import(modules.postgres) as typeof import("./postgres_driver.ts");
  return module.openPostgres(url, options);
}

async function openPglite(path: string, options: OpenDatabaseOptions): Promise<Driver> {
  // The table names that very module.
  const module = await import(modules.pglite) as typeof import("./pglite_driver.ts");
  return module.openPglite(path, options);
}
