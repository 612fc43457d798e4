/** The servers of a whole run of tests. */
import { statfs } from "node:fs/promises";
import { type PostgresCluster, startPostgresCluster } from "./postgres_cluster.ts";
import { serveScratchDatabases } from "./scratch_databases.ts";

/** A Postgres server for each lane, which all stages of a run use. */
export interface LaneServers {
  /** Starts the server of a lane if it does not run. */
  environment(lane: number): Promise<Readonly<Record<string, string>>>;
  stop(): Promise<void>;
}

export function serversOfLanes(): LaneServers {
  const started: Promise<PostgresCluster>[] = [];
  const databases: ReturnType<typeof serveScratchDatabases>[] = [];
  const environments: Promise<Record<string, string>>[] = [];

  async function start(lane: number): Promise<Record<string, string>> {
    // One after the other: each takes a port that is free.
    started[lane] = Promise.resolve(started[lane - 1]).then(postgresForTests);
    const server = await started[lane];
    if ("missing" in server) return { TEST_POSTGRES_MISSING: server.missing };
    const served = serveScratchDatabases(server.url);
    databases.push(served);
    return { TEST_POSTGRES_URL: server.url, TEST_SCRATCH_DATABASES: served.url };
  }
  return {
    environment: (lane) => environments[lane] ??= start(lane),
    async stop() {
      await Promise.all(databases.map((served) => served.stop()));
      for (const server of await Promise.allSettled(started)) {
        if (server.status === "fulfilled" && "stop" in server.value) await server.value.stop();
      }
    },
  };
}

/** A server that is running already, named by `TEST_POSTGRES_URL`, spares the start of another. */
async function postgresForTests(): Promise<PostgresCluster> {
  const url = Deno.env.get("TEST_POSTGRES_URL");
  if (url !== undefined) return { url, stop: () => Promise.resolve() };
  return await startPostgresCluster({
    // A test has a database of its own: to create one takes three times as long on a disk.
    ...await inMemory(),
    // To compile a long statement takes longer than to run it over the rows of a test.
    // A deadlock is found after this time: writers that meet on purpose wait for nothing else.
    settings: { jit: "off", deadlock_timeout: "100ms" },
  });
}

/** Where the files of tests need no disk, if there is room. */
export async function inMemory(): Promise<{ readonly dir?: string }> {
  const dir = "/dev/shm";
  const found = await statfs(dir).catch(() => null);
  if (found === null) return {};
  const { bavail, bsize } = found;
  return bavail * bsize > 4 * 2 ** 30 ? { dir } : {};
}
