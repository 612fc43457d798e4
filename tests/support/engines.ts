import { cp } from "node:fs/promises";
import {
  type Database,
  openDatabase,
  type OpenDatabaseOptions,
} from "../../src/db/open_database.ts";
import { testPostgres } from "./skip.ts";

/** A kind of database that tests run over; each `open` gives a fresh, empty one. */
export interface Engine {
  readonly name: string;
  /** Closing the database removes it. */
  readonly open: (options?: OpenDatabaseOptions) => Promise<Database>;
  /** Why this machine cannot run it. */
  readonly ignore?: string;
}

/** Every engine by every driver. */
export const engines: readonly Engine[] = [
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
  { name: "pglite", open: pgliteOpener() },
];

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

/** Setting up a PGlite takes seconds, and copying one a fraction of that. */
function pgliteOpener(): Engine["open"] {
  let template: Promise<string> | null = null;

  async function createTemplate(): Promise<string> {
    const folder = await Deno.makeTempDir({ prefix: "resource-api-pglite-" });
    addEventListener("unload", () => Deno.removeSync(folder, { recursive: true }));
    await (await openDatabase(`pglite:${folder}/data`)).close();
    return `${folder}/data`;
  }

  return async (options) => {
    template ??= createTemplate();
    const source = await template;
    const folder = await Deno.makeTempDir({ prefix: "resource-api-pglite-" });
    await cp(source, `${folder}/data`, { recursive: true });
    const remove = () => Deno.remove(folder, { recursive: true });
    return removedAtClose(await openDatabase(`pglite:${folder}/data`, options), remove);
  };
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
): Promise<{ readonly url: string; readonly drop: () => Promise<void> }> {
  const name = `test_${crypto.randomUUID().replaceAll("-", "")}`;
  await administer(adminUrl, `CREATE DATABASE ${name}`);
  const url = new URL(adminUrl);
  url.pathname = `/${name}`;
  return {
    url: url.href,
    drop: () => administer(adminUrl, `DROP DATABASE ${name} WITH (FORCE)`),
  };
}

async function administer(adminUrl: string, text: string): Promise<void> {
  const admin = await openDatabase(adminUrl);
  try {
    await admin.driver.query({ text, values: [] });
  } finally {
    await admin.close();
  }
}
