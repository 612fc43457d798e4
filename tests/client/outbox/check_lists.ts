/**
 * Compares what a client makes of random filters, for rows that it writes and rows that it receives,
 * with the lists of a service on SQLite and Postgres: `deno task check-lists [filters] [seed]
 * [engine]`. Each thousand filters have other rows and a seed of their own, which is printed with a difference.
 */
import { startPostgresCluster } from "../../support/postgres_cluster.ts";

const [filters = "100000", first = "1", only = ""] = Deno.args;
const given = Deno.env.get("TEST_POSTGRES_URL");
const server = given === undefined
  ? await startPostgresCluster({ settings: { jit: "off" } })
  : { url: given, stop: () => Promise.resolve() };
if ("missing" in server) {
  console.log(`Cannot check the lists: ${server.missing}`);
  Deno.exit(1);
}
Deno.env.set("TEST_POSTGRES_URL", server.url);
// The engines of the tests look for the server where they are loaded.
const { engineOfEachDialect } = await import("../../support/engines.ts");
const { checkFilteredLists } = await import("./filtered_lists.ts");

let differences = 0;
const checked = engineOfEachDialect.filter(({ name }) => name.includes(only));
await Promise.all(checked.map(async (engine) => {
  const total = { filters: 0, decided: 0, undecided: 0 };
  for (let seed = Number(first); total.filters < Number(filters); seed++) {
    const runs = Math.min(1_000, Number(filters) - total.filters);
    const part = await checkFilteredLists(engine, { seed, runs });
    for (const one of part.differences) console.log(`${engine.name}, seed ${seed}: ${one}`);
    differences += part.differences.length;
    total.filters += part.filters;
    total.decided += part.decided;
    total.undecided += part.undecided;
    if (seed % 10 === 0) print();
  }
  print();

  function print(): void {
    const { filters, decided, undecided } = total;
    console.log(`${engine.name}: ${filters} filters, ${decided} results, ${undecided} undecided`);
  }
}));
await server.stop();
console.log(`${differences} differences`);
Deno.exit(differences === 0 ? 0 : 1);
