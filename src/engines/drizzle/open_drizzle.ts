import { entityKindOf } from "../../schema/drizzle/drizzle_structure.ts";
import type { Driver } from "../../db/driver.ts";
import { errorPrefix } from "../../db/driver_options.ts";
import {
  openDatabaseOptionRules,
  type OpenDatabaseOptions,
  openPackagedDriver,
  packagedDrivers,
} from "../open_driver.ts";
import type { DrizzleDatabase } from "../../db/drizzle/drizzle_database.ts";

/** Opens its own connections to Drizzle's database. A PGlite has only one, which both share. */
export async function openDrizzle(
  database: DrizzleDatabase,
  given: OpenDatabaseOptions,
): Promise<Driver> {
  const kind = entityKindOf(database);
  const open = openers.get(kind ?? "");
  if (open === undefined) {
    throw new Error(
      `Cannot open a ${kind} of Drizzle: the service has drivers for the clients better-sqlite3, ` +
        "node:sqlite, postgres.js, node-postgres and PGlite; open the database by its URL, " +
        "db: await openDatabase(url)",
    );
  }
  const options = open === openPostgres ? given : openDatabaseOptionRules.read(given, errorPrefix);
  const driver = await open(database.$client, options);
  if (options.observe !== undefined) driver.observeBy?.(options.observe);
  return driver;
}

type OpenOf = (client: object, options: OpenDatabaseOptions) => Promise<Driver>;

const openPostgres: OpenOf = (client, options) =>
  openPackagedDriver(
    { ...packagedDrivers.postgres, opener: "openPostgresOfClient" },
    client,
    options,
  );

const openers: ReadonlyMap<string, OpenOf> = new Map([
  [
    "BetterSQLite3Database",
    (client, { observe: _, ...options }) =>
      openPackagedDriver(
        { ...packagedDrivers.betterSqlite3, opener: "openBetterSqlite3OfClient" },
        client,
        options,
      ),
  ],
  ["NodeSQLiteDatabase", async (client, { observe: _, ...options }) => {
    const module = await import("../sqlite/driver/node_sqlite_driver.ts");
    return await module.openNodeSqliteOfClient(client, options);
  }],
  ["PostgresJsDatabase", openPostgres],
  ["NodePgDatabase", openPostgres],
  [
    "PgliteDatabase",
    (client, { observe: _, ...options }) =>
      openPackagedDriver(
        { ...packagedDrivers.pglite, opener: "openPgliteOfClient" },
        client,
        options,
      ),
  ],
]);
