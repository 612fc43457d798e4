import { assertEquals } from "@std/assert";
import { createDenoKeyValue } from "../../src/kv/deno_key_value.ts";
import type { DenoKv } from "../../src/kv/deno_kv.ts";
import type { KeyValue } from "../../src/kv/key_value.ts";
import { createMemoryKeyValue } from "../../src/kv/memory_key_value.ts";
import type { Clock } from "../../src/runtime/runtime.ts";
import { systemRuntime } from "../../src/runtime/system_runtime.ts";
import { faultyKv } from "../support/faulty_kv.ts";
import { postgresStores } from "../support/postgres_stores.ts";
import { scratchFolder } from "../support/scratch.ts";
import { claim, exerciseStore, set } from "./key_value.ts";

const { random, clock: realClock } = systemRuntime(() => {});

/** Time stands still for records, and runs for deadlines. */
function overKv(kv: DenoKv, clock: Clock): KeyValue {
  return createDenoKeyValue(kv, { random, clock: { ...realClock, now: clock.now } });
}

exerciseStore({ name: "memory", open: (clock) => Promise.resolve(createMemoryKeyValue(clock)) });

exerciseStore({ name: "Postgres", ...postgresStores() });

exerciseStore({
  name: "Deno KV in memory",
  open: async (clock) => overKv(await Deno.openKv(":memory:"), clock),
});

exerciseStore({
  name: "Deno KV in a file",
  async open(clock) {
    const folder = await scratchFolder();
    const store = overKv(await Deno.openKv(`${folder.path}/a.kv`), clock);
    return {
      ...store,
      async close() {
        await store.close();
        await Deno.remove(folder.path, { recursive: true }).catch(ignoreAbsent);
      },
    };
  },
});

exerciseStore({
  name: "Deno KV whose every second operation meets a lock",
  open: async (clock) =>
    overKv(faultyKv(await Deno.openKv(":memory:"), (n) => n % 2 === 1 ? "locked" : null), clock),
});

exerciseStore({
  name: "Deno KV whose every third operation meets a lock",
  open: async (clock) =>
    overKv(faultyKv(await Deno.openKv(":memory:"), (n) => n % 3 === 0 ? "locked" : null), clock),
});

Deno.test("two handles on one file see each other's writes and share their claims", async () => {
  await using folder = await scratchFolder();
  const open = async () => overKv(await Deno.openKv(`${folder.path}/a.kv`), realClock);
  const [left, right] = [await open(), await open()];
  await set(left, ["a"], 1);
  assertEquals((await right.get(["a"])).value, 1);
  const results = await Promise.all(
    Array.from({ length: 40 }, (_, n) => claim(n % 2 === 0 ? left : right, ["c", n >> 2], n)),
  );
  assertEquals(results.filter(({ ok }) => ok).length, 10);
  await left.close();
  await right.close();
});

function ignoreAbsent(error: unknown): void {
  // Closing twice is one of the promises.
  if (!(error instanceof Deno.errors.NotFound)) throw error;
}
