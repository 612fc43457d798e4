import { existsSync } from "node:fs";
import { cp } from "node:fs/promises";
import { dirname } from "node:path";
import { openDatabase } from "../../src/engines/open_database.ts";
import type { OpenDatabaseOptions } from "../../src/engines/open_driver.ts";
import {
  type ScratchDatabases,
  scratchDatabases,
  scratchDatabasesAt,
} from "./scratch_databases.ts";
import { testPostgres } from "./skip.ts";
import type { Database } from "../../src/db/database.ts";

/** A kind of database that tests run over; each `open` gives a fresh, empty one. */
export interface Engine {
  readonly name: string;
  /** Closing the database removes it. */
  readonly open: (options?: OpenDatabaseOptions) => Promise<Database>;
  /** Why this machine cannot run it. */
  readonly ignore?: string;
}

/** Every engine by every driver. Conformance suites and one test of each family run over these. */
export const everyEngine: readonly Engine[] = [
  {
    name: "better-sqlite3",
    // A notice says that node:sqlite has taken its place, which would test nothing new.
    open: (options) =>
      openDatabase("sqlite::memory:", {
        ...options,
        observe: (observation) => {
          throw new Error(`better-sqlite3 is not in use: ${JSON.stringify(observation)}`);
        },
      }),
  },
  { name: "node:sqlite", open: (options) => openDatabase("node-sqlite::memory:", options) },
  postgresEngine(),
  pgliteEngine(),
];

/**
 * What most tests run over. PGlite is the same Postgres with another driver, and several
 * times slower: beyond {@link everyEngine}'s tests it has a run of its own, `deno task test:pglite`.
 */
export const engines: readonly Engine[] = Deno.env.get("TEST_PGLITE") === "everywhere"
  ? everyEngine
  : everyEngine.filter(({ name }) => name !== "pglite");

/**
 * One for each dialect, for long tests of what lies above the drivers: both drivers of SQLite get the
 * same statements, and the conformance suites compare what they answer.
 */
export const engineOfEachDialect: readonly Engine[] = engines.filter(({ name }) =>
  name !== "node:sqlite"
);

function postgresEngine(): Engine {
  const server = testPostgres();
  const name = "postgres";
  if ("missing" in server) {
    return { name, ignore: server.missing, open: () => Promise.reject(new Error(server.missing)) };
  }
  return {
    name,
    open: async (options) => {
      const scratch = await createScratchDatabase(server.url);
      return removedAtClose(await openDatabase(scratch.url, options), scratch.drop);
    },
  };
}

/**
 * Setting up a PGlite takes seconds, and copying one a fraction of that. One that is emptied and
 * used again would be quicker still, but it leaves timers running from one test into the next.
 */
function pgliteEngine(): Engine {
  return {
    name: "pglite",
    open: async (options) => {
      const { path, remove } = await copyPglite();
      return removedAtClose(await openDatabase(`pglite:${path}`, options), remove);
    },
  };
}

let template: Promise<string> | null = null;

/** The folder of an empty PGlite. */
export async function copyPglite(): Promise<
  { readonly path: string; readonly remove: () => Promise<void> }
> {
  const source = await (template ??= pgliteTemplate());
  const folder = await Deno.makeTempDir({ dir: dirname(source), prefix: "pglite-" });
  await cp(source, `${folder}/data`, { recursive: true });
  return { path: `${folder}/data`, remove: () => Deno.remove(folder, { recursive: true }) };
}

/** Kept in the folder of the whole run, if there is one: else each file sets up its own. */
async function pgliteTemplate(): Promise<string> {
  const ofRun = Deno.env.get("TEST_FOLDER");
  if (ofRun === undefined) {
    const folder = await Deno.makeTempDir({ prefix: "pglite-" });
    addEventListener("unload", () => Deno.removeSync(folder, { recursive: true }));
    return await setUpPglite(`${folder}/data`);
  }
  // Parts that run at the same time wait for the first: it takes seconds of a processor.
  using file = await Deno.open(`${ofRun}/pglite.lock`, { create: true, write: true });
  await file.lock(true);
  const shared = `${ofRun}/pglite`;
  if (existsSync(shared)) return shared;
  const path = await setUpPglite(
    `${await Deno.makeTempDir({ dir: ofRun, prefix: "pglite-" })}/data`,
  );
  await Deno.rename(path, shared);
  return shared;
}

/** Makes an empty PGlite in a folder, and returns the folder. */
async function setUpPglite(path: string): Promise<string> {
  await (await openDatabase(`pglite:${path}`)).close();
  // Each start fills its buffers with zeros, which are 128 MB by default.
  const settings = "shared_buffers = 4MB\n";
  await Deno.writeTextFile(`${path}/postgresql.conf`, settings, { append: true });
  // The databases template0 and template1 are two thirds of all files, of which each test has copies,
  // and no test creates a database in a PGlite.
  for (const template of ["1", "4"]) {
    await Deno.remove(`${path}/base/${template}`, { recursive: true });
  }
  return path;
}

function removedAtClose(database: Database, remove: () => Promise<void>): Database {
  let removal: Promise<void> | null = null;
  return {
    ...database,
    close: async () => {
      await database.close();
      await (removal ??= remove());
    },
  };
}

/** A database of its own in the cluster that `adminUrl` leads to. */
export async function createScratchDatabase(
  adminUrl: string,
  template: string = "template1",
): Promise<{ readonly url: string; readonly drop: () => Promise<void> }> {
  const name = `test_${crypto.randomUUID().replaceAll("-", "")}`;
  await administer(adminUrl, (databases) => databases.create(name, template));
  const url = new URL(adminUrl);
  url.pathname = `/${name}`;
  return {
    url: url.href,
    drop: () => administer(adminUrl, (databases) => databases.drop(name)),
  };
}

/**
 * Administers the server of the run through the runner, if there is one: a connection takes three
 * times as long as what it is needed for, and a test must leave none open.
 */
async function administer(
  adminUrl: string,
  work: (databases: ScratchDatabases) => Promise<void>,
): Promise<void> {
  const shared = Deno.env.get("TEST_SCRATCH_DATABASES");
  if (shared !== undefined && adminUrl === Deno.env.get("TEST_POSTGRES_URL")) {
    return await work(scratchDatabasesAt(shared));
  }
  const databases = scratchDatabases(adminUrl);
  try {
    await work(databases);
  } finally {
    await databases.end();
  }
}
