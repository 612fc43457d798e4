/** The databases of a run, which are gone when it ends. */
import { openDatabase } from "../../mod.ts";
import { startPostgresCluster } from "../../tests/support/postgres_cluster.ts";
import { onSignal } from "./processes.ts";
import { type Content, fill } from "./tables.ts";

/** The options for `parseArgs` that the benchmarks of attacks and of expensive reads share. */
export const databaseOptions = {
  engines: { type: "string", default: "sqlite,postgres" },
  postgres: { type: "string" },
  verbose: { type: "boolean", default: false },
} as const;

/** The databases that a run uses. */
export interface DatabaseOptions {
  /** The engines, for example `sqlite,postgres`. */
  readonly engines: string;
  /** The URL of an empty database. If undefined, a server is started. */
  readonly postgres: string | undefined;
  readonly content: Content;
  /** The rows of the large table. */
  readonly rows?: number;
}

/** A filled database. */
export interface BenchDatabase {
  readonly engine: string;
  readonly url: string;
}

/** Calls `work` with each database in turn, and removes all databases, even after a signal. */
export async function withDatabases(
  { engines, postgres, content, rows = 0 }: DatabaseOptions,
  work: (database: BenchDatabase) => Promise<void>,
): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "resource-api-attack-" });
  const cluster = engines.includes("postgres") && postgres === undefined
    ? await startPostgresCluster()
    : null;
  let removing: Promise<void> | null = null;
  // The removal runs once: a signal also ends the work, which then removes the databases too.
  const remove = () => removing ??= removeAll();
  async function removeAll(): Promise<void> {
    if (cluster !== null && "stop" in cluster) await cluster.stop();
    await Deno.remove(folder, { recursive: true });
  }
  onSignal(remove);
  try {
    for (const engine of engines.split(",")) {
      const server = postgres ?? (cluster !== null && "url" in cluster ? cluster.url : null);
      const url = engine === "postgres" ? server : `${engine}:${folder}/${engine}.db`;
      if (url === null) {
        throw new Error("Postgres is not installed: --engines sqlite leaves it out");
      }
      const db = await openDatabase(url);
      await fill(db, content, rows);
      await db.close();
      await work({ engine, url });
    }
  } finally {
    await remove();
  }
}
