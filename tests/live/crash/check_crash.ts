/**
 * Checks that no stream loses a change when Postgres recovers from a crash:
 * `deno task check-crash [runs]`.
 */
import { startMortalPostgres } from "../../support/mortal_postgres.ts";
import { crashRun } from "./crash_run.ts";

const [runs = "40"] = Deno.args;
let wrongRuns = 0;
// What no commit waits for stays in memory for longer, which is what makes numbers come again.
await using server = await startMortalPostgres({ wal_writer_delay: "10s" });
for (let number = 1; number <= Number(runs); number++) {
  const { wrong, invalidations } = await crashRun(server.url, async () => {
    await server.crash();
    await server.start();
  });
  const sent = Object.entries(wrong).map(([name, count]) =>
    [name, count, ...invalidations[name] ?? []].join(" ")
  );
  console.log(`run ${number}: wrong rows: ${sent.join(", ")}`);
  if (Object.values(wrong).some((count) => count > 0)) wrongRuns++;
}
console.log(`${runs} runs, ${wrongRuns} with losses`);
if (wrongRuns > 0) Deno.exit(1);
