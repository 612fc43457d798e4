/**
 * Random groups of concurrent writes against the same writes one by one, on Postgres:
 * `deno task check-writes [groups] [seed]`. Each group has a seed of its own: after a failure,
 * `deno task check-writes 1 SEED` checks its group again.
 */
import { startPostgresCluster } from "../support/postgres_cluster.ts";
import { checkGroups } from "./check_groups.ts";

const [groups = "100000", seed = "1"] = Deno.args;
const given = Deno.env.get("TEST_POSTGRES_URL");
const server = given === undefined
  ? await startPostgresCluster({ settings: { jit: "off", deadlock_timeout: "100ms" } })
  : { url: given, stop: () => Promise.resolve() };
if ("missing" in server) {
  console.log(`Cannot check the writes: ${server.missing}`);
  Deno.exit(1);
}
const stopping = new AbortController();
for (const signal of ["SIGINT", "SIGTERM"] as const) {
  Deno.addSignalListener(signal, () => stopping.abort());
}
console.log(`groups from seed ${seed} on`);
const start = performance.now();
const { failure, statuses, ...totals } = await checkGroups({
  url: server.url,
  seed: Number(seed),
  groups: Number(groups),
  lanes: 4,
  stopping: stopping.signal,
  report: ({ groups, writes }) => {
    if (groups % 1_000 === 0) console.log(`${groups} groups of ${writes} writes checked`);
  },
});
await server.stop();
const took = Math.round((performance.now() - start) / 1_000);
console.log(
  `${totals.groups} groups of ${totals.writes} writes, ${totals.shared} in shared transactions, ` +
    `${totals.rolledBack} transactions rolled back, ${totals.reordered} groups in another order, ` +
    `${totals.unavailable} ran again for lack of a database, ${took} s`,
);
for (const [status, count] of [...statuses].toSorted()) console.log(`${status}: ${count}`);
if (failure !== null) console.log(failure);
Deno.exit(failure === null ? 0 : 1);
