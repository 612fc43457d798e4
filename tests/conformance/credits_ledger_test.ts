import { createDenoKeyValue } from "../../src/kv/deno_key_value.ts";
import type { KeyValue } from "../../src/kv/key_value.ts";
import { createMemoryKeyValue } from "../../src/kv/memory_key_value.ts";
import type { Clock } from "../../src/runtime/runtime.ts";
import { systemRuntime } from "../../src/runtime/system_runtime.ts";
import { startDenokv } from "../support/denokv.ts";
import { faultyKv } from "../support/faulty_kv.ts";
import { postgresStores } from "../support/postgres_stores.ts";
import { scratchFolder } from "../support/scratch.ts";
import { exerciseLedger } from "./credits_ledger.ts";

const { random } = systemRuntime(() => {});

exerciseLedger({
  name: "memory",
  open: (clock) => Promise.resolve(createMemoryKeyValue(clock)),
});

exerciseLedger({ name: "Postgres", ...postgresStores() });

exerciseLedger({
  name: "Deno KV in memory, whose every third operation meets a lock",
  open: async (clock) =>
    createDenoKeyValue(
      faultyKv(await Deno.openKv(":memory:"), (n) => n % 3 === 0 ? "locked" : null),
      { random, clock },
    ),
});

exerciseLedger({
  name: "Deno KV, of which every second acknowledgement is lost",
  open: async (clock) =>
    createDenoKeyValue(
      faultyKv(await Deno.openKv(":memory:"), (n) => n % 2 === 0 ? "lost acknowledgement" : null),
      { random, clock },
    ),
});

exerciseLedger({
  name: "Deno KV in a file",
  async open(clock) {
    const folder = await scratchFolder();
    const kv = await Deno.openKv(`${folder.path}/a.kv`);
    return closing(createDenoKeyValue(kv, { random, clock }), folder);
  },
});

exerciseLedger({
  name: "a denokv server",
  missing: startDenokv.missing,
  async open(clock: Clock) {
    const server = await startDenokv();
    return closing(createDenoKeyValue(await Deno.openKv(server.url), { random, clock }), server);
  },
});

/** The store, with what it lies in. */
function closing(store: KeyValue, resource: AsyncDisposable): KeyValue {
  return {
    ...store,
    async close() {
      await store.close();
      await resource[Symbol.asyncDispose]();
    },
  };
}
