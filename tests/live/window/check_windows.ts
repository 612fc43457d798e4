/**
 * Checks streams with a limit by random writes, on SQLite and Postgres:
 * `deno task check-windows [writes] [seed] [engine]`. Each thousand writes have a seed of their own,
 * which is printed if it finds a difference.
 */
import { startPostgresCluster } from "../../support/postgres_cluster.ts";

const [writes = "100000", first = "1", only = ""] = Deno.args;
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
const checked = engineOfEachDialect.filter(({ name }) => name.includes(only));
await Promise.all(checked.map(async (engine) => {
  const total = { steps: 0, comparisons: 0, resumed: 0, slowestMs: 0 };
  const print = () =>
    console.log(
      `${engine.name}: ${total.steps} writes, ${total.comparisons} comparisons with a list, ` +
        `${total.resumed} reconnects, longest wait ${Math.round(total.slowestMs)} ms`,
    );
  for (let seed = Number(first), thousands = 1; total.steps < Number(writes); seed++) {
    const steps = Math.min(1_000, Number(writes) - total.steps);
    const run = await runWindowModel(engine, { seed, steps }).catch((error) => {
      console.error(`seed ${seed} on ${engine.name}: ${error.stack}`);
      return null;
    });
    if (run === null) {
      failed++;
      break;
    }
    total.steps += run.steps;
    total.comparisons += run.comparisons;
    total.resumed += run.resumed;
    total.slowestMs = Math.max(total.slowestMs, run.slowestMs);
    if (thousands++ % 10 === 0) print();
  }
  print();
}));
await server.stop();
Deno.exit(failed === 0 ? 0 : 1);
