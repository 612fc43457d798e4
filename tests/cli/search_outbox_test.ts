import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { parseArguments } from "../../src/cli/arguments.ts";
import { createDenoKeyValue } from "../../src/kv/deno_key_value.ts";
import { systemRuntime } from "../../src/runtime/system_runtime.ts";
import { OutboxStore } from "../../src/search/outbox/outbox_store.ts";
import { KvSearchOutbox } from "../../src/search/outbox/search_outbox.ts";
import { runChild } from "../serve/child_process.ts";
import { scratchFolder } from "../support/scratch.ts";

const cli = new URL("../../cli.ts", import.meta.url).pathname;
const runtime = systemRuntime(() => {});
const defaults = { batchSize: 100, maxAttempts: 1, backoffBaseMs: 1_000 };

/** Of two entries the one that is drained dies, as there is no such index here. */
async function fillOutbox(path: string): Promise<void> {
  const store = createDenoKeyValue(await Deno.openKv(path), runtime);
  const records = new OutboxStore(store, runtime);
  const outbox = new KvSearchOutbox({ records, indexes: new Map(), defaults, runtime });
  await outbox.enqueue({ index: "notes", type: "index", docId: "1\x1b[2J" });
  await outbox.drain();
  await outbox.enqueue({ index: "notes", type: "index", docId: "2" });
  await store.close();
}

Deno.test("search outbox counts, shows and replays what failed too often", async () => {
  await using folder = await scratchFolder();
  await fillOutbox(`${folder.path}/service.kv`);
  const run = (...args: string[]) =>
    runChild([cli, "search", "outbox", ...args], { cwd: folder.path });
  const stats = await run();
  assertMatch(stats.stdout, /^1 pending \(1 ready, 0 leased, the oldest since \d+ s\), 1 dead\n$/);
  const dead = await run("dead", "--kv", "service.kv");
  assertMatch(dead.stdout, /^\S+Z {2}notes 1\ufffd\[2J {2}1x {2}there is no index "notes"\n$/);
  const [entry] = (await run("dead", "--json")).stdout.split("\n");
  const { index, docId, attempts } = JSON.parse(entry ?? "");
  assertEquals([index, docId, attempts], ["notes", "1\x1b[2J", 1]);
  assertEquals((await run("replay")).stdout, "1 entries are pending again\n");
  const after = JSON.parse((await run("stats", "--json")).stdout);
  assertEquals([after.pending, after.dead], [2, 0]);
});

Deno.test("search outbox says what is wrong with its arguments, and with a store that is missing", async () => {
  const cases: readonly (readonly [string, string])[] = [
    ["drain", 'search outbox takes one of stats, dead, replay, not "drain"'],
    ["stats more", 'search outbox takes one of stats, dead, replay, not "more"'],
    ["--kvs x", "search outbox has no option --kvs: did you mean --kv?"],
    ["--kv", "The option --kv needs a value"],
    ["--json=yes", "The option --json takes no value"],
    ["--kv a --config b", "Give --kv or --config, not both: a configuration names its own store"],
  ];
  for (const [text, message] of cases) {
    const parsed = parseArguments(["search", "outbox", ...text.split(" ")]);
    assertEquals(parsed, { kind: "misused", message });
  }
  await using folder = await scratchFolder();
  const { code, stderr } = await runChild([cli, "search", "outbox"], { cwd: folder.path });
  assertEquals(code, 2);
  assertStringIncludes(stderr, "Cannot open service.kv: there is no such file");
});
