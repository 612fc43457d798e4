import { assert, assertEquals } from "@std/assert";
import { KvLedger } from "../../src/billing/ledger/kv_ledger.ts";
import type { KeyValue } from "../../src/kv/key_value.ts";
import { createMemoryKeyValue } from "../../src/kv/memory_key_value.ts";
import { StoreError } from "../../src/kv/store_error.ts";
import { systemRuntime } from "../../src/runtime/system_runtime.ts";
import { gate } from "../support/scratch.ts";
import { sequences } from "./payments.ts";
import { type TestBilling, testBilling } from "./vendors.ts";

const system = systemRuntime(() => {});

/** A store whose n-th call fails, before or after it is done. */
function failingAt(store: KeyValue, n: number, when: "before" | "after"): KeyValue {
  let calls = 0;
  async function run<T>(work: () => Promise<T>): Promise<T> {
    const fails = ++calls === n;
    if (fails && when === "before") throw new StoreError("unavailable", new Error("down"));
    const result = await work();
    if (fails) throw new StoreError("unknown-outcome", new Error("down"));
    return result;
  }
  return {
    get: (key) => run(() => store.get(key)),
    getMany: (keys) => run(() => store.getMany(keys)),
    list: (page) => run(() => store.list(page)),
    commit: (commit) => run(() => store.commit(commit)),
    close: () => store.close(),
  };
}

for (const when of ["before", "after"] as const) {
  Deno.test(`a store that fails once ${when} any call of a delivery: it is a 5xx, then one grant`, async () => {
    const [sequence] = sequences.filter(({ name }) => name === "Stripe, one payment");
    const delivery = sequence?.deliveries[1];
    assert(sequence !== undefined && delivery !== undefined);
    let ahead = 0;
    const runtime = { ...system, clock: { ...system.clock, now: () => Date.now() + ahead } };
    let failures = 0;
    for (let n = 1; n <= 40; n++) {
      ahead = 0;
      const store = createMemoryKeyValue(runtime.clock);
      const world = await testBilling("stripe", { kv: failingAt(store, n, when), runtime });
      const statuses = [await world.deliver(delivery)];
      for (let tries = 0; statuses.at(-1) !== 200; tries++) {
        assert(tries < 4, `${n}: ${statuses}`);
        // A claim that could not be released ends after a minute.
        ahead += 61_000;
        statuses.push(await world.deliver(delivery));
      }
      if (statuses[0] !== 200) {
        assertEquals(statuses[0], 503);
        failures++;
      }
      const [audit] = await new KvLedger(store, runtime).audit("ada");
      assertEquals([n, audit?.balance, audit?.faults], [n, 50, []]);
      const types = new Set(world.seen.map(({ type }) => type));
      assertEquals(types, new Set(["checkout.completed", "payment.succeeded"]));
      await world.close();
    }
    assert(failures > 10, `only ${failures} failures`);
  });
}

Deno.test("while one process handles a delivery it is 409 in another, then a duplicate", async () => {
  const [sequence] = sequences;
  const delivery = sequence?.deliveries[2];
  assert(delivery !== undefined);
  const kv = createMemoryKeyValue(system.clock);
  const [begun, end] = [gate(), gate()];
  const slow = await testBilling("stripe", {
    kv,
    async onEvent() {
      begun.open();
      await end.passed;
    },
  });
  const other = await testBilling("stripe", { kv });
  const first = slow.deliver(delivery);
  await begun.passed;
  assertEquals(await other.deliver(delivery), 409);
  end.open();
  assertEquals([await first, await other.deliver(delivery)], [200, 200]);
  assertEquals(other.seen, []);
  assertEquals(await other.billing.credits.balance("ada"), 100);
  for (const world of [slow, other] as readonly TestBilling[]) await world.close();
});
