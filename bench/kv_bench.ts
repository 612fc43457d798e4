/**
 * Compares the key-value stores in one run: `deno task bench:kv [seconds] [URL]`. Each load runs with
 * 1 and with 32 callers in the memory, in Deno KV in a file, and in Postgres. Without a URL, the
 * benchmark starts a Postgres server. Both have their data in the folder for temporary files.
 */
import { openPostgresKeyValue } from "../src/engines/postgres/kv/open_postgres_key_value.ts";
import { createDenoKeyValue } from "../src/kv/deno_key_value.ts";
import { HotKeys } from "../src/kv/hot_keys.ts";
import type { KeyValue } from "../src/kv/key_value.ts";
import { createMemoryKeyValue } from "../src/kv/memory_key_value.ts";
import { systemRuntime } from "../src/runtime/system_runtime.ts";
import { startPostgresCluster } from "../tests/support/postgres_cluster.ts";
import { quantile } from "./figures.ts";

const seconds = Number(Deno.args[0] ?? 2);
const runtime = systemRuntime(() => {});

/** One operation of a caller. `n` differs in each operation. */
type Operation = (caller: number, n: number) => Promise<void>;

const value = { tokens: 10, at: 1_800_000_000_000 };
const loads: Readonly<Record<string, (store: KeyValue) => Promise<Operation>>> = {
  "claim of a new key": (store) =>
    Promise.resolve(async (caller, n) => {
      const key = ["claim", caller, n];
      const { ok } = await store.commit({
        checks: [{ key, versionstamp: null }],
        mutations: [{ kind: "set", key, value: true, expireInMs: 60_000 }],
        claim: key,
      });
      if (!ok) throw new Error("The claim was refused");
    }),
  "read, check, set": (store) =>
    Promise.resolve(async (caller) => {
      const key = ["own", caller];
      const { versionstamp } = await store.get(key);
      const { ok } = await store.commit({
        checks: [{ key, versionstamp }],
        mutations: [{ kind: "set", key, value, expireInMs: 60_000 }],
      });
      if (!ok) throw new Error("The check of an own key failed");
    }),
  "one hot key": (store) => {
    const hot = new HotKeys(store, runtime);
    return Promise.resolve(async () => {
      await hot.update(["hot"], (found) => {
        const next = Number(found ?? 0) + 1;
        return { result: next, record: { value: next, expireInMs: 60_000 } };
      });
    });
  },
  "get": async (store) => {
    for (let caller = 0; caller < 32; caller++) {
      await store.commit({ mutations: [{ kind: "set", key: ["get", caller], value }] });
    }
    return async (caller) => {
      const found = await store.get(["get", caller]);
      if (found.value === undefined) throw new Error("The record is missing");
    };
  },
};

const folder = await Deno.makeTempDir({ prefix: "resource-api-bench-" });
const [, given] = Deno.args;
const settings = { fsync: "on", synchronous_commit: "on", full_page_writes: "on" };
const cluster = given === undefined
  ? await startPostgresCluster({ settings })
  : { url: given, stop: () => Promise.resolve() };
if ("missing" in cluster) throw new Error(cluster.missing);
const stores = new Map([
  ["memory", createMemoryKeyValue(runtime.clock, 2 ** 31)],
  ["Deno KV", createDenoKeyValue(await Deno.openKv(`${folder}/a.kv`), runtime)],
  ["Postgres", await openPostgresKeyValue(cluster.url, { schema: "bench_kv" })],
]);
for (const [load, prepare] of Object.entries(loads)) {
  for (const callers of [1, 32]) {
    for (const [name, store] of stores) {
      const { perSecond, p99 } = await measure(await prepare(store), callers);
      const figures = `${perSecond.toFixed(0).padStart(8)}/s  p99 ${p99.toFixed(1)} ms`;
      console.log(
        `${load.padEnd(20)} ${String(callers).padStart(2)}  ${name.padEnd(9)} ${figures}`,
      );
    }
  }
}
for (const store of stores.values()) await store.close();
await cluster.stop();
await Deno.remove(folder, { recursive: true });

async function measure(
  operate: Operation,
  callers: number,
): Promise<{ readonly perSecond: number; readonly p99: number }> {
  const times: number[] = [];
  const began = performance.now();
  const endsAt = began + seconds * 1_000;
  await Promise.all(Array.from({ length: callers }, async (_, caller) => {
    for (let n = 0; performance.now() < endsAt; n++) {
      const at = performance.now();
      await operate(caller, began + n);
      times.push(performance.now() - at);
    }
  }));
  const perSecond = times.length / ((performance.now() - began) / 1_000);
  return { perSecond, p99: quantile(times, 0.99) };
}
