/**
 * Sweeps real databases: `deno task sweep DIR [--rows N] [--writes N] [--only NAME,…]`. DIR contains
 * files of SQLite (`.db`, `.sqlite`) and scripts (`.sqlite.sql` for SQLite, `.sql` for Postgres). The
 * task copies each database, serves the copy with `--write --triggers`, and compares all responses
 * to reads, writes and streams with plain SQL. Then it uninstalls the service, and compares the schema.
 * Prints a line and the first differences for each database, and the table of `docs/databases.md`.
 * The exit code is 1 if anything differs.
 */
import { parseArgs } from "node:util";
import { startPostgresCluster } from "../tests/support/postgres_cluster.ts";
import { resultRow, resultTable } from "./sweep/result_table.ts";
import { sourcesIn } from "./sweep/sources.ts";
import { sweepDatabase, type Swept } from "./sweep/sweep_database.ts";

if (import.meta.main) {
  const { positionals: [folder], values } = parseArgs({
    args: Deno.args,
    allowPositionals: true,
    options: {
      rows: { type: "string", default: "1200" },
      writes: { type: "string", default: "3" },
      only: { type: "string" },
      verbose: { type: "boolean", default: false },
    },
  });
  if (folder === undefined) {
    console.error("Name a folder of databases: deno task sweep ./databases");
    Deno.exit(2);
  }
  const only = values.only?.split(",");
  const sources = (await sourcesIn(folder)).filter(({ name }) => only?.includes(name) ?? true);
  const limits = {
    maxRows: Number(values.rows),
    maxWritten: Number(values.writes),
    print: (line: string) => values.verbose ? console.log(`  ${line}`) : undefined,
  };
  let cluster: Awaited<ReturnType<typeof startPostgresCluster>> | null = null;
  const results: Swept[] = [];
  let failed = 0;
  try {
    for (const source of sources) {
      try {
        const loaded = await source.load(async () => {
          cluster ??= await startPostgresCluster();
          if ("missing" in cluster) throw new Error(cluster.missing);
          return cluster.url;
        });
        try {
          const swept = await sweepDatabase(loaded, limits);
          results.push(swept);
          console.log(resultRow(swept));
          for (const line of [...swept.leftOut, ...new Set(swept.refusedWrites)].slice(0, 12)) {
            console.log(`  note: ${line}`);
          }
          for (const line of swept.differences.slice(0, 30)) console.log(`  differs: ${line}`);
        } finally {
          await loaded.drop();
        }
      } catch (error) {
        failed++;
        console.log(`${source.name} could not be swept: ${error}`);
      }
    }
  } finally {
    // The cast is needed: the compiler does not see the assignment in the callback.
    const started = cluster as Awaited<ReturnType<typeof startPostgresCluster>> | null;
    if (started !== null && "stop" in started) await started.stop();
  }
  console.log(resultTable(results));
  const isSame = failed === 0 && results.every(({ differences }) => differences.length === 0);
  Deno.exit(isSame ? 0 : 1);
}
