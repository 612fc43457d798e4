import { assertEquals } from "@std/assert";
import { scratchFolder } from "../../support/scratch.ts";
import { testUnless } from "../../support/skip.ts";
import { clusterPrograms, startCluster } from "./cluster_for_tests.ts";
import { ClusterRounds } from "./cluster_rounds.ts";

const unpacked = await Deno.makeTempDir({ prefix: "resource-api-cluster-programs-" });
await Deno.chmod(unpacked, 0o755);
addEventListener("unload", () => Deno.removeSync(unpacked, { recursive: true }));
const programs = await clusterPrograms(unpacked);

testUnless(
  "missing" in programs ? programs.missing : null,
  "examples/cluster loses no write by a rolling restart and a failover, and each stream equals the table",
  async () => {
    if ("missing" in programs) throw new Error(programs.missing);
    await using folder = await scratchFolder();
    await Deno.chmod(folder.path, 0o755);
    const options = { isSynchronous: true, namespace: null };
    await using cluster = await startCluster({ ...options, programs, folder: folder.path });
    await using rounds = new ClusterRounds({
      ...{
        ...options,
        cluster,
        writers: 12,
        streams: 100,
        pauseMs: 150,
        outageMs: 3_500,
        confirmMs: 0,
      },
      // The machine may run other tests.
      agreeLimitMs: 120_000,
    });
    const outcome = await rounds.run();
    assertEquals(outcome.wrong, []);
    assertEquals(outcome.lost, 0);
    console.log(`the first write came ${outcome.firstWriteMs} ms after the promotion`);
  },
);
