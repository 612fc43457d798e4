import { TableIdempotency } from "../../src/idempotency/table_idempotency.ts";
import { KvIdempotency } from "../../src/idempotency/kv_idempotency.ts";
import { createDenoKeyValue } from "../../src/kv/deno_key_value.ts";
import { createMemoryKeyValue } from "../../src/kv/memory_key_value.ts";
import { systemRuntime } from "../../src/runtime/system_runtime.ts";
import { everyEngine } from "../support/engines.ts";
import { postgresStores } from "../support/postgres_stores.ts";
import { testIdempotencyStore, ttlMs } from "./idempotency_store.ts";

const { random } = systemRuntime(() => {});

testIdempotencyStore("in the key-value store", (clock) => {
  const store = createMemoryKeyValue(clock);
  return Promise.resolve({
    sibling: (keptMs = ttlMs) => new KvIdempotency({ store, ttlMs: keptMs, clock }),
    [Symbol.asyncDispose]: () => store.close(),
  });
});

testIdempotencyStore("in a Deno KV", async (clock) => {
  const kv = await Deno.openKv(":memory:");
  const store = createDenoKeyValue(kv, { clock, random });
  return {
    sibling: (keptMs = ttlMs) => new KvIdempotency({ store, ttlMs: keptMs, clock }),
    [Symbol.asyncDispose]: () => store.close(),
  };
});

const inPostgres = postgresStores();
if (inPostgres.missing === null) {
  testIdempotencyStore("in a key-value store in Postgres", async (clock) => {
    const store = await inPostgres.open(clock);
    return {
      sibling: (keptMs = ttlMs) => new KvIdempotency({ store, ttlMs: keptMs, clock }),
      [Symbol.asyncDispose]: () => store.close(),
    };
  });
}

for (const engine of everyEngine.filter(({ ignore }) => ignore === undefined)) {
  testIdempotencyStore(`in a table of ${engine.name}`, async (clock) => {
    const db = await engine.open();
    return {
      sibling: (keptMs = ttlMs) =>
        new TableIdempotency({ driver: db.driver, ttlMs: keptMs, clock, random }),
      [Symbol.asyncDispose]: () => db.close(),
    };
  });
}
