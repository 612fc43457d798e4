import { runOrThrow } from "../../../support/debian_packages.ts";
import { findBinaries } from "../../../support/postgres_programs.ts";
import type { Database } from "../../../../src/db/database.ts";

/** A backup of the database of a world, which is restored while the services run. */
export interface Backups extends AsyncDisposable {
  /** Whether there is one. */
  readonly isTaken: boolean;
  /** In the place of an earlier one. */
  take(): Promise<void>;
  restore(): Promise<void>;
}

/** No backup is taken yet. */
export async function openBackups(db: Database, url: string): Promise<Backups> {
  const folder = await Deno.makeTempDir({ prefix: "resource-api-backups-" });
  const copy = `${folder}/copy`;
  const { take, restore } = db.dialect.engine === "sqlite"
    ? backupsOfSqlite(db, url, copy)
    : await backupsOfPostgres(url, copy);
  let isTaken = false;
  return {
    get isTaken() {
      return isTaken;
    },
    async take() {
      await Deno.remove(copy).catch(() => {});
      await take();
      isTaken = true;
    },
    restore,
    async [Symbol.asyncDispose]() {
      await Deno.remove(folder, { recursive: true });
    },
  };
}

type Steps = Pick<Backups, "take" | "restore">;

/** Page by page into the file that all have open. */
function backupsOfSqlite(db: Database, url: string, copy: string): Steps {
  return {
    async take() {
      await db.driver.query({ text: `VACUUM INTO '${copy}'`, values: [] });
    },
    async restore() {
      const path = url.slice("sqlite:".length);
      // In a process of its own: a service may have to end a write before.
      const code = `
        import { backup, DatabaseSync } from "node:sqlite";
        const source = new DatabaseSync(${JSON.stringify(copy)});
        await backup(source, ${JSON.stringify(path)});
        source.close();`;
      await runOrThrow(Deno.execPath(), ["eval", "--no-config", code], {});
    },
  };
}

async function backupsOfPostgres(url: string, copy: string): Promise<Steps> {
  const binaries = await findBinaries(["pg_dump", "pg_restore"]);
  if (binaries === null) throw new Error("There are no pg_dump and pg_restore");
  const execute = (program: string, ...args: readonly string[]) =>
    runOrThrow(`${binaries}/${program}`, [...args, "-d", url], {});
  return {
    take: () => execute("pg_dump", "-Fc", "-f", copy),
    async restore() {
      // A service that reads concurrently may end it by a deadlock: then nothing was restored.
      for (let tries = 1;; tries++) {
        try {
          return await execute("pg_restore", "-1", "--clean", "--if-exists", copy);
        } catch (error) {
          if (tries === maxTries) throw error;
        }
      }
    },
  };
}

const maxTries = 5;
