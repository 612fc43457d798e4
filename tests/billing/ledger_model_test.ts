import { assertEquals } from "@std/assert";
import { createDenoKeyValue } from "../../src/kv/deno_key_value.ts";
import { createMemoryKeyValue } from "../../src/kv/memory_key_value.ts";
import { systemRuntime } from "../../src/runtime/system_runtime.ts";
import { faultyKv, type KvFault } from "../support/faulty_kv.ts";
import { checkLedger, randomOf } from "./ledger_model.ts";
import { repeats } from "../support/repeats.ts";

const { random, clock } = systemRuntime(() => {});

// `deno task check-ledger 1000000` runs many more.
const operations = repeats(50_000);

Deno.test(`${operations} random operations from 64 callers agree with the model`, async () => {
  const store = createMemoryKeyValue(clock, 2 ** 30);
  await checkLedger({ store, operations, callers: 64, seed: 1 });
  await store.close();
});

const faults: readonly KvFault[] = [
  "locked",
  "lost acknowledgement",
  "thrown before",
  "thrown after",
];

Deno.test("2,000 random operations over a store that fails one time in ten agree with it", async () => {
  const next = randomOf(2);
  let failed = 0;
  const kv = faultyKv(await Deno.openKv(":memory:"), () => {
    if (next() >= 0.1) return null;
    failed++;
    return faults[Math.floor(next() * faults.length)] ?? null;
  });
  const store = createDenoKeyValue(kv, { random, clock });
  await checkLedger({ store, operations: 2_000, callers: 8, seed: 3 });
  assertEquals(failed > 300, true, `only ${failed} faults`);
  await store.close();
});
