import { assert, assertEquals } from "@std/assert";
import { KvLedger } from "../../src/billing/ledger/kv_ledger.ts";
import { openCreditsLedger } from "../../src/billing/open_billing.ts";
import { createDenoKeyValue } from "../../src/kv/deno_key_value.ts";
import { systemRuntime } from "../../src/runtime/system_runtime.ts";
import { runChild } from "../serve/child_process.ts";
import { startDenokv } from "../support/denokv.ts";
import { scratchFolder } from "../support/scratch.ts";
import { testUnless } from "../support/skip.ts";
import { untilAnswered } from "./ledger_model.ts";

const script = new URL("ledger_process.ts", import.meta.url).pathname;

Deno.test("100 consume(1) on 50 in four processes on one file: 50 succeed, balance 0", async () => {
  await using folder = await scratchFolder();
  const path = `${folder.path}/a.kv`;
  const ledger = await openCreditsLedger({ kv: path });
  await ledger.grant("ada", 50);
  const ends = await Promise.all([1, 2, 3, 4].map((n) => runChild([script, path, String(n)])));
  const counts = ends.map(({ stdout, stderr }) => {
    const [, consumed, granted] = /done (\d+) (\d+)/.exec(stdout) ?? [];
    assert(consumed !== undefined, stderr);
    return [Number(consumed), Number(granted)] as const;
  });
  const total = (index: 0 | 1) => counts.reduce((sum, count) => sum + count[index], 0);
  const audits = await ledger.audit();
  await ledger.close();
  // An acknowledgement that was lost is a success all the same.
  assertEquals(total(0), 50);
  assertEquals(total(1), 20);
  assertEquals(
    audits.map(({ account, balance, entries, faults }) => [account, balance, entries, faults]),
    [["ada", 0, 51, []], ["bob", 20, 20, []], ["cid", 4, 4, []]],
  );
});

testUnless(
  startDenokv.missing,
  "a denokv server that is killed in the middle loses and doubles no entry",
  async () => {
    await using server = await startDenokv();
    const runtime = systemRuntime(() => {});
    const store = createDenoKeyValue(await Deno.openKv(server.url), runtime);
    const ledger = new KvLedger(store, runtime);
    let done = 0;
    const work = Promise.all(Array.from({ length: 8 }, async (_, caller) => {
      for (let n = 0; n < 40; n++) {
        const key = `${caller} ${n}`;
        await untilAnswered(() => ledger.grant("ada", 3, { key: `grant:x:${key}` }));
        await untilAnswered(() => ledger.consume("ada", 2, { key }));
        done++;
      }
    }));
    for (const at of [40, 160]) {
      await server.untilAnswered(() => Promise.resolve(done >= at));
      await server.kill();
      await server.start();
    }
    await work;
    const [audit] = await ledger.audit("ada");
    assertEquals([audit?.balance, audit?.entries, audit?.faults], [320, 640, []]);
    await store.close();
  },
);
