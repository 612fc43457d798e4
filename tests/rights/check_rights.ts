/**
 * Random users, operations and doors against rights along relations, beside an oracle in plain code:
 * `deno task check-rights [requests] [seed] [sqlite|postgres]`. Each world has a seed of its own:
 * after a failure, `deno task check-rights 400 SEED` checks its world again.
 */
import { openDatabase } from "../../mod.ts";
import { createScratchDatabase, type Engine } from "../support/engines.ts";
import { withService } from "../support/http.ts";
import { startPostgresCluster } from "../support/postgres_cluster.ts";
import { runMatrix, tableOf } from "./run.ts";
import { probes, tables } from "./tables.ts";
import { type Work, worldConfig } from "./world.ts";

const [requests = "100000", seed = "1", kind = "sqlite"] = Deno.args;
const cluster = kind === "postgres"
  ? await startPostgresCluster({ settings: { jit: "off" } })
  : { url: "", stop: () => Promise.resolve() };
if ("missing" in cluster) throw new Error(cluster.missing);
const engine: Engine = {
  name: kind,
  open: async () =>
    await openDatabase(
      kind === "postgres" ? (await createScratchDatabase(cluster.url)).url : "sqlite::memory:",
    ),
};
const stopping = new AbortController();
for (const signal of ["SIGINT", "SIGTERM"] as const) {
  Deno.addSignalListener(signal, () => stopping.abort());
}
const works = new Map<string, Work>();
let failed = false;
await withService(
  engine,
  [...Object.values(tables), probes],
  () => worldConfig(works),
  async (service) => {
    let told = 0;
    const report = await runMatrix({
      ...{ service, works, seed: Number(seed), requests: Number(requests) },
      timeoutMs: Number(Deno.env.get("TIMEOUT_MS") ?? 60_000),
      onWorld: ({ requests, found, quietPoints }) => {
        for (const one of found.slice(told)) console.log(Deno.inspect(one, { depth: 9 }));
        told = found.length;
        console.log(`${requests} requests, ${quietPoints} streams compared, ${told} faults`);
        return !stopping.signal.aborted && told < 100;
      },
    });
    console.log(tableOf(report));
    failed = report.found.length > 0;
  },
);
await cluster.stop();
Deno.exit(failed ? 1 : 0);
