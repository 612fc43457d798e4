import { groupOf } from "../options/option.ts";
import { callback } from "../options/option_kinds.ts";
import type { KeyValue } from "../kv/key_value.ts";
import type { Observer, Runtime } from "../runtime/runtime.ts";
import type { Driver } from "../db/driver.ts";
import { isServerUrl } from "./server_url.ts";
import {
  driverOptionRules,
  errorPrefix,
  sqliteAdditionRules,
  type SqliteOptions,
} from "../db/driver_options.ts";
import type { PostgresOptions } from "./postgres/driver/postgres_options.ts";

/** Options for opening a database of any engine. */
export interface OpenDatabaseOptions extends SqliteOptions, PostgresOptions {
  /** Receives notices, for example that a Postgres server cannot be reached. */
  readonly observe?: Observer | undefined;
}

export const openDatabaseOptionRules = groupOf<
  SqliteOptions & Pick<OpenDatabaseOptions, "observe">
>()({
  ...driverOptionRules,
  ...sqliteAdditionRules,
  observe: callback<Observer>(),
}).required();

export async function openDriver(url: string, given: OpenDatabaseOptions): Promise<Driver> {
  // The driver of a Postgres server validates the options itself.
  const isServer = /^postgres(ql)?:/i.test(url);
  const options = isServer ? given : openDatabaseOptionRules.read(given, errorPrefix);
  const driver = await openByScheme(url, options);
  if (options.observe !== undefined) driver.observeBy?.(options.observe);
  return driver;
}

async function openByScheme(url: string, options: OpenDatabaseOptions): Promise<Driver> {
  const { observe, ...ofDriver } = options;
  const [, scheme = "", rest = ""] = /^([a-z0-9+-]+):(.*)$/is.exec(url) ?? [];
  switch (scheme.toLowerCase()) {
    case "sqlite":
      return await openSqlite(pathOf(rest), ofDriver, observe);
    case "node-sqlite":
      return await openNodeSqlite(pathOf(rest), ofDriver);
    case "postgres":
    case "postgresql":
      return await openPackagedDriver(packagedDrivers.postgres, url, { ...ofDriver, observe });
    case "pglite":
      return await openPackagedDriver(packagedDrivers.pglite, pathOf(rest), ofDriver);
    default:
      if (isServerUrl(url)) {
        return await openPackagedDriver(packagedDrivers.postgres, url, { ...ofDriver, observe });
      }
      if (scheme === "" && /^[^@]+$/.test(url)) {
        throw new Error(`Cannot open a database by "${url}": use sqlite:${url}`);
      }
      // The message omits the rest of the URL, which can contain a password.
      throw new Error(
        `Cannot open a database by "${scheme}:": use sqlite:PATH, sqlite::memory:, node-sqlite:PATH, postgres://USER@HOST/DATABASE, pglite:PATH or pglite::memory:`,
      );
  }
}

function pathOf(rest: string): string {
  const path = rest.startsWith("//") ? rest.slice(2) : rest;
  if (path === "") throw new Error("Cannot open a database without a path: use sqlite:PATH");
  return path;
}

export interface PackagedDriver {
  readonly file: string;
  readonly opener: string;
  readonly subpath: string;
  readonly library: string;
}

/**
 * Drivers that need npm packages. The code imports the variable `file`, because Deno would download
 * the packages of literal imports at every start. Tools like `deno bundle` and `deno cache` do not
 * find such modules, so a bundled or cached program must import the opener itself.
 */
export const packagedDrivers = {
  betterSqlite3: {
    file: "./sqlite/driver/better_sqlite3_driver.ts",
    opener: "openBetterSqlite3",
    subpath: "better-sqlite3",
    library: "better-sqlite3",
  },
  postgres: {
    file: "./postgres/driver/postgres_js_driver.ts",
    opener: "openPostgres",
    subpath: "postgres",
    library: "postgres",
  },
  pglite: {
    file: "./postgres/driver/pglite_driver.ts",
    opener: "openPglite",
    subpath: "pglite",
    library: "@electric-sql/pglite",
  },
};

type Opener = (place: unknown, options: OpenDatabaseOptions) => Promise<Driver>;

/** Loads and opens a driver. `place` is a path, a URL, or the client of a database library. */
export async function openPackagedDriver(
  driver: PackagedDriver,
  place: unknown,
  options: OpenDatabaseOptions,
): Promise<Driver> {
  // Each opener in `packagedDrivers` has this type. A test opens a database with each of them.
  const { [driver.opener]: open } = await load(driver) as Record<string, Opener>;
  if (open === undefined) throw new Error(`${driver.file} has no ${driver.opener}`);
  return await open(place, options);
}

type StoreOpener = (url: string, options: object, runtime: Runtime) => Promise<KeyValue>;

export async function openStoreByUrl(url: string, runtime: Runtime): Promise<KeyValue> {
  const file = "./postgres/kv/open_postgres_key_value.ts";
  const driver = { ...packagedDrivers.postgres, file, opener: "openPostgresKeyValue" };
  // The cast is safe: the module exports a function of this type, and a test calls it.
  const { openPostgresKeyValue } = await load(driver) as Record<string, StoreOpener>;
  return await openPostgresKeyValue!(url, {}, runtime);
}

/** True in the npm package `resource-api`, whose users install the libraries of drivers. */
const isInstalledByNpm = import.meta.url.includes("/node_modules/resource-api/");

async function load({ file, opener, subpath, library }: PackagedDriver): Promise<unknown> {
  try {
    return await import(file);
  } catch (cause) {
    const subject = `Cannot load the driver of ${subpath}`;
    const advice = isInstalledByNpm
      ? `npm install resource-api ${library}`
      : `import { ${opener} } from "@svc/resource-api/${subpath}" in the program and ` +
        `pass await ${opener}(…) in place of the URL`;
    throw new Error(`${subject}: ${advice}`, { cause });
  }
}

async function openSqlite(
  path: string,
  options: OpenDatabaseOptions,
  observe: Observer | undefined,
): Promise<Driver> {
  return await canLoadAddon(observe)
    ? await openPackagedDriver(packagedDrivers.betterSqlite3, path, options)
    : await openNodeSqlite(path, options);
}

/** This import can be literal: `node:sqlite` is a part of Deno, so nothing is downloaded. */
async function openNodeSqlite(path: string, options: OpenDatabaseOptions): Promise<Driver> {
  const module = await import("./sqlite/driver/node_sqlite_driver.ts");
  return await module.openNodeSqlite(path, options);
}

async function canLoadAddon(observe: Observer | undefined): Promise<boolean> {
  try {
    const module: unknown = await import(packagedDrivers.betterSqlite3.file);
    // The cast is safe: the module exports `loadAddon` with this type. Only this line calls it.
    (module as { loadAddon: () => void }).loadAddon();
    return true;
  } catch (error) {
    const message = `better-sqlite3 cannot be loaded, node:sqlite takes its place: ${error}`;
    // The npm package does not contain better-sqlite3, so a notice would be useless.
    if (!isInstalledByNpm) observe?.({ kind: "notice", message });
    return false;
  }
}
