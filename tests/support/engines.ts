import {
  type Database,
  openDatabase,
  type OpenDatabaseOptions,
} from "../../src/db/open_database.ts";
import { testPostgres } from "./skip.ts";

/** A kind of database that tests run over; each `open` gives a fresh, empty one. */
export interface TestEngine {
  readonly name: string;
  /** Closing the database removes it. */
  readonly open: (options?: OpenDatabaseOptions) => Promise<Database>;
  /** Why this machine cannot run it. */
  readonly ignore?: string;
}

/** Every engine by every driver. */
export const engines: readonly TestEngine[] = [
  { name: "better-sqlite3", open: (options) => openDatabase("sqlite::memory:", options) },
  { name: "node:sqlite", open: (options) => openDatabase("node-sqlite::memory:", options) },
  postgresEngine(),
  { name: "pglite", open: (options) => openDatabase("pglite::memory:", options) },
];

function postgresEngine(): TestEngine {
  const server = testPostgres();
  const name = "postgres";
  if ("missing" in server) {
    return { name, ignore: server.missing, open: () => Promise.reject(new Error(server.missing)) };
  }
  return {
    name,
    open: async (options) => {
      const scratch = await createScratchDatabase(server.url);
      const database = await openDatabase(scratch.url, options);
      return {
        ...database,
        close: async () => {
          await database.close();
          await scratch.drop();
        },
      };
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
  let dropped: Promise<void> | null = null;
  return {
    url: url.href,
    drop: () => dropped ??= administer(adminUrl, `DROP DATABASE ${name} WITH (FORCE)`),
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
