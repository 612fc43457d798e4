/**
 * Checks streams with a limit by random writes, on SQLite and Postgres:
 * `deno task check-windows [writes] [seed]`. Each thousand writes have a seed of their own, which is
 * printed if it finds a difference.
 */
import { startPostgresCluster } from "../../support/postgres_cluster.ts";

const [writes = "100000", first = "1"] = Deno.args;
const given = Deno.env.get("TEST_POSTGRES_URL");
const server = given === undefined
  ? await startPostgresCluster({ settings: { jit: "off" } })
  : { url: given, stop: () => Promise.resolve() };
if ("missing" in server) {
  console.log(`Cannot check the windows: ${server.missing}`);
  Deno.exit(1);
}
Deno.env.set("TEST_POSTGRES_URL", server.url);
// The engines of the tests look for the server where they are loaded.
const { engineOfEachDialect } = await import("../../support/engines.ts");
const { runWindowModel } = await import("./window_model.ts");

let failed = 0;
await Promise.all(engineOfEachDialect.map(async (engine) => {
  const total = { steps: 0, comparisons: 0, resumed: 0 };
  for (let seed = Number(first); total.steps < Number(writes) && failed === 0; seed++) {
    const steps = Math.min(1_000, Number(writes));
    const run = await runWindowModel(engine, { seed, steps }).catch((error) => {
      failed++;
      console.error(`seed ${seed} on ${engine.name}: ${error.message}`);
      return total;
    });
    total.steps += run.steps;
    total.comparisons += run.comparisons;
    total.resumed += run.resumed;
  }
  const { steps, comparisons, resumed } = total;
  console.log(`${engine.name}: ${steps} writes, ${comparisons} comparisons, ${resumed} reconnects`);
}));
await server.stop();
Deno.exit(failed === 0 ? 0 : 1);
