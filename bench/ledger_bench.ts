/**
 * Compares the ledger with a plain loop of read, check and write on the same store: `deno task
 * bench:ledger [seconds]`. 64 callers consume credits of one account, with history and idempotency
 * keys. The ledger must be at least 20 times as fast on disk.
 */
import { KvLedger } from "../src/billing/ledger/kv_ledger.ts";
import { createDenoKeyValue } from "../src/kv/deno_key_value.ts";
import type { KeyValue } from "../src/kv/key_value.ts";
import { createMemoryKeyValue } from "../src/kv/memory_key_value.ts";
import { systemRuntime } from "../src/runtime/system_runtime.ts";
import { quantile } from "./figures.ts";

const seconds = Number(Deno.args[0] ?? 3);
const callers = 64;
const credits = 1_000_000_000;
const runtime = systemRuntime(() => {});

const folder = await Deno.makeTempDir();
await compare("memory", () => Promise.resolve(createMemoryKeyValue(runtime.clock, 2 ** 31)));
const ratio = await compare("file", async (name) => {
  return createDenoKeyValue(await Deno.openKv(`${folder}/${name}.kv`), runtime);
});
console.log(`at least 20 times as fast: ${ratio >= 20 ? "yes" : "NO"}`);
await Deno.remove(folder, { recursive: true });

/** Prints two lines. Returns how many times as fast as the loop the ledger is. */
async function compare(
  name: string,
  open: (name: string) => Promise<KeyValue>,
): Promise<number> {
  const naive = await measure(`${name}, a plain loop`, await open("naive"), async (store) => {
    await store.commit({ mutations: [{ kind: "set", key: ["head"], value: { credits, seq: 0 } }] });
    return (key) => consumeNaively(store, key);
  });
  const ledger = await measure(`${name}, the ledger`, await open("ledger"), async (store) => {
    const ledger = new KvLedger(store, runtime);
    await ledger.grant("ada", credits);
    return async (key) => {
      const { ok } = await ledger.consume("ada", 1, { key, reason: "bench" });
      if (!ok) throw new Error("The credits are used up");
    };
  }, async (store, done) => {
    const ledger = new KvLedger(store, runtime);
    if (await ledger.balance("ada") !== credits - done) throw new Error("LOST SOME");
    const [audit] = await ledger.audit("ada");
    if (audit?.faults.length !== 0) throw new Error(`WRONG ENTRIES: ${audit?.faults}`);
  });
  console.log(`${name}: ${(ledger / naive).toFixed(1)} times as fast`);
  return ledger / naive;
}

/** Consumes credits as a program would without the ledger, with equal records in one commit. */
async function consumeNaively(store: KeyValue, key: string): Promise<void> {
  for (;;) {
    const [head, known] = await store.getMany([["head"], ["key", key]]);
    if (known?.value !== undefined) return;
    // The cast is safe: only this file writes the value.
    const { credits, seq } = head?.value as { credits: number; seq: number };
    if (credits < 1) throw new Error("The credits are used up");
    const entry = { seq: seq + 1, amount: -1, balance: credits - 1, reason: "bench", key };
    const { ok } = await store.commit({
      checks: [
        { key: ["head"], versionstamp: head?.versionstamp ?? null },
        { key: ["key", key], versionstamp: null },
      ],
      mutations: [
        { kind: "set", key: ["head"], value: { credits: credits - 1, seq: seq + 1 } },
        { kind: "set", key: ["entry", seq + 1], value: entry },
        { kind: "set", key: ["key", key], value: entry },
      ],
    });
    if (ok) return;
  }
}

async function measure(
  name: string,
  store: KeyValue,
  prepare: (store: KeyValue) => Promise<(key: string) => Promise<void>>,
  check: (store: KeyValue, done: number) => Promise<void> = () => Promise.resolve(),
): Promise<number> {
  const consume = await prepare(store);
  const times: number[] = [];
  const start = performance.now();
  await Promise.all(Array.from({ length: callers }, async (_, caller) => {
    for (let n = 0, now = start; now < start + seconds * 1000; n++) {
      await consume(`${caller} ${n}`);
      const after = performance.now();
      times.push(after - now);
      now = after;
    }
  }));
  const rate = times.length / (performance.now() - start) * 1000;
  await check(store, times.length);
  await store.close();
  console.log(
    `${name}: ${Math.round(rate).toLocaleString("en")}/s, p50 ` +
      `${quantile(times, 0.5).toFixed(1)} ms, p99 ${quantile(times, 0.99).toFixed(1)} ms`,
  );
  return rate;
}
