/**
 * Ends a migration from each of ten older schemas by SIGKILL after each of its statements, on both
 * engines: `deno task migrate-kill`, with `sqlite` or `postgres` and a version for a part of it.
 */
import { startPostgresCluster } from "../../support/postgres_cluster.ts";
import {
  expectedOf,
  killAt,
  type KillRun,
  postgresCopies,
  sqliteCopies,
  twoAtOnce,
} from "./migration_kills.ts";
import { newest } from "./tracker_versions.ts";

const [engine = "both", only = ""] = Deno.args;
const versions = only === ""
  ? [...Array(newest - 1).keys()].map((index) => index + 1)
  : [Number(only)];

async function checkAll(name: string, open: (version: number) => Promise<KillRun>): Promise<void> {
  for (const version of versions) {
    const run = await open(version);
    try {
      const expected = await expectedOf(run);
      for (let place = 1; place <= expected.places; place++) await killAt(run, expected, place);
      await twoAtOnce(run, expected);
      console.log(`${name}: version ${version}, ended at each of ${expected.places} places`);
    } finally {
      await run.close();
    }
  }
}

if (engine !== "postgres") await checkAll("SQLite", sqliteCopies);
if (engine !== "sqlite") {
  const cluster = await startPostgresCluster();
  if ("missing" in cluster) throw new Error(cluster.missing);
  try {
    await checkAll("Postgres", (version) => postgresCopies(cluster.url, version));
  } finally {
    await cluster.stop();
  }
}
