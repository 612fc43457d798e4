/**
 * Random filters with quantifiers as texts, templates and rules, and live streams with such scopes,
 * against plain SQL, on SQLite and Postgres: `deno task check-filters [filters] [seed] [engine]`.
 * Each hundred filters have a seed of their own: after a difference,
 * `deno task check-filters 100 SEED` checks its hundred again.
 */
import { startPostgresCluster } from "../support/postgres_cluster.ts";
import type { Engine } from "../support/engines.ts";
import type { Totals } from "./filters/check.ts";
import type { StreamTotals } from "./filters/streams.ts";

interface EngineTotals {
  readonly name: string;
  readonly totals: Totals;
  readonly streams: StreamTotals;
}

const [filters = "100000", first = "1", only] = Deno.args;
const given = Deno.env.get("TEST_POSTGRES_URL");
const server = given === undefined
  ? await startPostgresCluster({ settings: { jit: "off", deadlock_timeout: "100ms" } })
  : { url: given, stop: () => Promise.resolve() };
if ("missing" in server) {
  console.log(`Cannot check the filters: ${server.missing}`);
  Deno.exit(1);
}
Deno.env.set("TEST_POSTGRES_URL", server.url);
// The engines of the tests look for the server where they are loaded.
const { engineOfEachDialect } = await import("../support/engines.ts");
const { checkSeed, describe, noTotals, withStand } = await import("./filters/check.ts");
const { checkStreams, noStreamTotals } = await import("./filters/streams.ts");

let isStopping = false;
for (const signal of ["SIGINT", "SIGTERM"] as const) {
  Deno.addSignalListener(signal, () => isStopping = true);
}
console.log(`filters from seed ${first} on`);
const start = performance.now();
const hundreds = Math.ceil(Number(filters) / 100);
/** A database is used for so many hundreds, because its change log grows, and then for streams. */
const hundredsOfDatabase = 10;

async function checkOn(engine: Engine): Promise<EngineTotals> {
  const [totals, streams] = [noTotals(), noStreamTotals()];
  let next = 0;
  const run = async (): Promise<void> => {
    while (next < hundreds && !isStopping) {
      const seed = Number(first) + next;
      const end = Number(first) + Math.min(hundreds, next += hundredsOfDatabase);
      await withStand(engine, async (stand) => {
        for (let one = seed; one < end && !isStopping; one++) {
          await checkSeed(stand, one, 100, totals);
        }
        await checkStreams(stand, { seed, streams: 30, rounds: 30 }, streams);
      });
      for (const one of totals.differences.splice(0)) print(describe(one));
      for (const one of streams.differences.splice(0)) print(one);
      console.log(`${engine.name}: ${totals.filters} filters checked`);
    }
  };
  // Postgres works in processes of its own, while this one waits.
  const lanes = engine.name === "postgres" ? 3 : 1;
  await Promise.all(Array.from({ length: lanes }, run));
  return { name: engine.name, totals, streams };
}

let differences = 0;
function print(difference: string): void {
  differences++;
  console.log(difference);
}

const able = engineOfEachDialect.filter(({ name, ignore }) =>
  ignore === undefined && (only === undefined || only === name)
);
const results = await Promise.all(able.map(checkOn)).finally(server.stop);

console.log(`${Math.round((performance.now() - start) / 1_000)} s`);
for (const { name, totals, streams } of results) {
  const { filters, comparisons, empty, full, kinds, forms } = totals;
  console.log(
    `${name}: ${filters} filters, ${comparisons} comparisons, ${empty} of no row, ${full} of all`,
  );
  console.log(`  ${[...kinds].sort().map(([kind, count]) => `${kind} ${count}`).join(", ")}`);
  console.log(`  ${[...forms].sort().map(([form, count]) => `${form} ${count}`).join(", ")}`);
  console.log(
    `  ${streams.streams} streams, ${streams.writes} writes, ${streams.comparisons} comparisons, ` +
      `${streams.events} events`,
  );
}
console.log(`${differences} differences`);
Deno.exit(differences === 0 ? 0 : 1);
