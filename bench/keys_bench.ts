/**
 * The rate at which 64 callers change one key, or eight keys, of each store: `deno run -A
 * bench/keys_bench.ts [seconds]`. The p99 for one key on disk must be below 20 ms.
 */
import { createDenoKeyValue } from "../src/kv/deno_key_value.ts";
import { HotKeys } from "../src/kv/hot_keys.ts";
import type { KeyValue } from "../src/kv/key_value.ts";
import { createMemoryKeyValue } from "../src/kv/memory_key_value.ts";
import { systemRuntime } from "../src/runtime/system_runtime.ts";

const seconds = Number(Deno.args[0] ?? 3);
const callers = 64;
const runtime = systemRuntime(() => {});

const folder = await Deno.makeTempDir();
for (const keys of [1, 8, 64]) {
  await measure("memory", keys, createMemoryKeyValue(runtime.clock));
  const file = await Deno.openKv(`${folder}/${keys}.kv`);
  const p99 = await measure("file", keys, createDenoKeyValue(file, runtime));
  if (keys === 1) console.log(`under 20 ms: ${p99 < 20 ? "yes" : "NO"}`);
}
await Deno.remove(folder, { recursive: true });

/** Prints a line. Returns the 99th percentile in milliseconds. */
async function measure(name: string, keys: number, store: KeyValue): Promise<number> {
  const hot = new HotKeys(store, runtime);
  const times: number[] = [];
  const start = performance.now();
  const end = start + seconds * 1000;
  await Promise.all(Array.from({ length: callers }, async (_, caller) => {
    for (let now = performance.now(); now < end;) {
      await hot.update(["count", caller % keys], (value) => {
        const next = Number(value ?? 0) + 1;
        return { result: next, record: { value: next } };
      });
      const after = performance.now();
      times.push(after - now);
      now = after;
    }
  }));
  const rate = Math.round(times.length / (performance.now() - start) * 1000);
  const counts = await store.list({ prefix: ["count"], limit: 100 });
  const sum = counts.reduce((sum, { value }) => sum + Number(value), 0);
  await store.close();
  times.sort((a, b) => a - b);
  const at = (share: number) => times[Math.floor(times.length * share)] ?? 0;
  console.log(
    `${name}, ${keys} keys: ${rate.toLocaleString("en")}/s, p50 ${at(0.5).toFixed(2)} ms, ` +
      `p99 ${at(0.99).toFixed(2)} ms, ${sum === times.length ? "none lost" : "LOST SOME"}`,
  );
  return at(0.99);
}
