/**
 * The cost of limits: `deno task bench:guard [seconds per turn] [turns]`. Compares a service with
 * budgets and a service without budgets, in alternating turns. Measures how rarely the store is
 * called. Also measures the delay of 64 callers that share one bucket on disk near its limit.
 */
import { tokenBucketPolicy } from "../src/guard/budget/token_bucket.ts";
import { BucketStore } from "../src/guard/budget/bucket_store.ts";
import { RateLimiter } from "../src/guard/budget/request_budget.ts";
import { createDenoKeyValue } from "../src/kv/deno_key_value.ts";
import { createMemoryKeyValue } from "../src/kv/memory_key_value.ts";
import type { KeyValue } from "../src/kv/key_value.ts";
import { systemRuntime } from "../src/runtime/system_runtime.ts";
import { median } from "./figures.ts";
import { measure } from "./load.ts";
import { startServer } from "./start_server.ts";

const seconds = Number(Deno.args[0] ?? 3);
const turns = Number(Deno.args[1] ?? 5);
const runtime = systemRuntime(() => {});
const sides = ["ours", "guarded"] as const;
type Side = typeof sides[number];

console.log(
  `${Deno.version.deno}, ${navigator.hardwareConcurrency} cores, ${turns} × ${seconds} s`,
);
await compareSides();
await countTrips();
await measureHotKey();

async function compareSides(): Promise<void> {
  await using servers = new AsyncDisposableStack();
  const started = {
    ours: servers.use(await startServer("ours")),
    guarded: servers.use(await startServer("guarded")),
  };
  const figures: Record<Side, number[]> = { ours: [], guarded: [] };
  const costs: Record<Side, number[]> = { ours: [], guarded: [] };
  for (let turn = -1; turn < turns; turn++) {
    // The order alternates, so that a drift of the machine affects both sides equally.
    for (const side of turn % 2 === 0 ? sides : [...sides].reverse()) {
      const before = started[side].cpuSeconds() ?? 0;
      const rate = await measure({
        port: started[side].port,
        connections: 32,
        durationMs: turn < 0 ? 1_000 : seconds * 1_000,
        status: 200,
        request: (n) => `GET /api/notes/${1 + n * 7919 % 10_000} HTTP/1.1\r\nhost: bench\r\n\r\n`,
      });
      if (turn < 0) continue;
      figures[side].push(rate);
      const used = (started[side].cpuSeconds() ?? 0) - before;
      costs[side].push(used / (rate * seconds) * 1e6);
    }
  }
  const [bareCost, guardedCost] = [median(costs.ours), median(costs.guarded)];
  console.log(
    `get by id      without ${bareCost.toFixed(1)} µs of processor time, with a budget ` +
      `${guardedCost.toFixed(1)} µs, ratio ${(bareCost / guardedCost).toFixed(2)}`,
  );
  const [bare, guarded] = [median(figures.ours), median(figures.guarded)];
  const ratio = guarded / bare;
  console.log(
    `get by id      without ${Math.round(bare)}/s, with a budget ${Math.round(guarded)}/s, ` +
      `ratio ${ratio.toFixed(2)} (at least 0.85: ${ratio >= 0.85 ? "yes" : "NO"})`,
  );
}

async function countTrips(): Promise<void> {
  let trips = 0;
  const memory = createMemoryKeyValue(runtime.clock);
  const store: KeyValue = {
    ...memory,
    getMany(keys) {
      trips++;
      return memory.getMany(keys);
    },
  };
  const { limiter, limits } = limiterOver(store, 1_000_000, 0);
  const requests = 500_000;
  const start = performance.now();
  for (let n = 0; n < requests; n++) {
    const taken = limiter.take("ann", 1);
    if (taken instanceof Promise) await taken;
  }
  const nanoseconds = (performance.now() - start) / requests * 1e6;
  const share = requests / trips;
  console.log(
    `decision       ${Math.round(nanoseconds)} ns, the store called once in ${Math.round(share)} ` +
      `(at least 32: ${share >= 32 ? "yes" : "NO"})`,
  );
  await limits.close();
}

async function measureHotKey(): Promise<void> {
  const folder = await Deno.makeTempDir();
  const store = createDenoKeyValue(await Deno.openKv(`${folder}/limits.kv`), runtime);
  // With an almost empty bucket no tokens are leased, and a caller that has solved a challenge is
  // not refused. Therefore every request calls the store.
  const { limiter, limits } = limiterOver(store, 1, 60);
  const times: number[] = [];
  const end = performance.now() + seconds * 1_000;
  await Promise.all(Array.from({ length: 64 }, async () => {
    for (let now = performance.now(); now < end;) {
      await limiter.takeToFloor("ann", 1);
      const after = performance.now();
      times.push(after - now);
      now = after;
    }
  }));
  await limits.close();
  await store.close();
  await Deno.remove(folder, { recursive: true });
  times.sort((a, b) => a - b);
  const p99 = times[Math.floor(times.length * 0.99)] ?? 0;
  console.log(
    `one hot key    64 callers, p99 ${p99.toFixed(2)} ms on disk ` +
      `(at most 20: ${p99 <= 20 ? "yes" : "NO"})`,
  );
}

function limiterOver(store: KeyValue, capacity: number, refillPerMinute: number) {
  const limits = new BucketStore(store, runtime);
  const limit = tokenBucketPolicy("budget", { capacity, refillPerMinute });
  return { limits, limiter: new RateLimiter("bench", limit, limits, runtime.clock) };
}
