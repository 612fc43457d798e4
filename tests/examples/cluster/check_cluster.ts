/**
 * Repeats the failover of `examples/cluster`, and prints a table:
 * `deno task check-cluster [rounds] [sync|async]`. Where root permits, the primary is sometimes cut
 * off in a network namespace instead of being killed.
 */
import { openNamespace, whyNoNamespace } from "../../nemesis/namespace.ts";
import { scratchFolder } from "../../support/scratch.ts";
import { clusterPrograms, startCluster } from "./cluster_for_tests.ts";
import { ClusterRounds } from "./cluster_rounds.ts";

const [rounds = "20", mode = "sync"] = Deno.args;
if (!/^[1-9]\d*$/.test(rounds) || !["sync", "async"].includes(mode)) {
  throw new Error("Usage: deno task check-cluster [rounds] [sync|async]");
}
const isSynchronous = mode === "sync";
const names = { name: "cluster", networks: ["10.213.73", "10.213.74"] } as const;
const missing = await whyNoNamespace(names);
if (missing !== null) console.log(`without partitions: ${missing}`);
await using stack = new AsyncDisposableStack();
const unpacked = stack.use(await scratchFolder());
await Deno.chmod(unpacked.path, 0o755);
const programs = await clusterPrograms(unpacked.path);
if ("missing" in programs) throw new Error(programs.missing);
const folder = stack.use(await scratchFolder());
await Deno.chmod(folder.path, 0o755);
const namespace = missing === null ? stack.use(await openNamespace(names)) : null;
const options = { isSynchronous, namespace };
const cluster = stack.use(await startCluster({ ...options, programs, folder: folder.path }));
const running = stack.use(
  new ClusterRounds({
    ...{ ...options, cluster, writers: 12, streams: 100, pauseMs: 40, outageMs: 5_000 },
    // A service keeps the claim of a key for 30 seconds if it cannot reach the store.
    confirmMs: 40_000,
    agreeLimitMs: 30_000,
  }),
);
const stopping = new AbortController();
Deno.addSignalListener("SIGINT", () => stopping.abort());
console.log(`| ${mode} | acknowledged | failed | lost | first write | streams agree | wrong |`);
console.log("| --- | --- | --- | --- | --- | --- | --- |");
for (let round = 1; round <= Number(rounds) && !stopping.signal.aborted; round++) {
  if (round > 1) await running.prepareNext();
  const { fault, acknowledged, failed, lost, firstWriteMs, agreedMs, wrong } = await running.run();
  const cells = [fault, acknowledged, failed, lost, `${firstWriteMs} ms`, `${agreedMs} ms`];
  console.log(`| ${[...cells, wrong.length].join(" | ")} |`);
  for (const text of wrong.slice(0, 5)) console.log(`WRONG ${text}`);
  if (wrong.length > 0) Deno.exitCode = 1;
}
