import { assert, assertEquals, assertRejects } from "@std/assert";
import type { AccountState } from "../../src/billing/ledger/account_state.ts";
import type { LedgerEntry } from "../../src/billing/ledger/ledger_entry.ts";
import { KvLedger } from "../../src/billing/ledger/kv_ledger.ts";
import { ledgerKeys } from "../../src/billing/ledger/ledger_keys.ts";
import { createMemoryKeyValue } from "../../src/kv/memory_key_value.ts";
import { Problem } from "../../src/problem/problem.ts";
import { systemRuntime } from "../../src/runtime/system_runtime.ts";
import { handClock } from "../db/hand_clock.ts";

const { random } = systemRuntime(() => {});
const day = 86_400_000;

function ledgerWorld() {
  const { clock, advance } = handClock();
  advance(1_800_000_000_000);
  const store = createMemoryKeyValue(clock);
  return { ledger: new KvLedger(store, { clock, random }), store, advance, clock };
}

Deno.test("a history has 50 entries by default, and at most 1,000", async () => {
  const { ledger } = ledgerWorld();
  for (let count = 0; count < 51; count++) await ledger.grant("b", 1);
  assertEquals((await ledger.history("b")).length, 50);
  assertEquals(await ledger.history("a", 1_000), []);
  await assertRejects(() => ledger.history("a", 1_001), Error, "over 1,000 entries");
});

Deno.test("keys, reasons and lifetimes have exact limits", async () => {
  const { ledger } = ledgerWorld();
  const accepted = async (work: () => Promise<unknown>) => {
    try {
      await work();
      return true;
    } catch (error) {
      assertEquals(error instanceof Problem ? error.slug : error, "validation-error");
      return false;
    }
  };
  for (const [given, limit] of [["key", 255], ["reason", 200]] as const) {
    for (const length of [limit, limit + 1]) {
      const options = { [given]: "x".repeat(length) };
      assertEquals(await accepted(() => ledger.grant("a", 1, options)), length === limit, given);
    }
  }
  for (const expiresInMs of [0, 1, 30 * day, 30 * day + 1]) {
    const isAccepted = await accepted(() => ledger.reserve("a", 1, { expiresInMs }));
    assertEquals(isAccepted, expiresInMs === 1 || expiresInMs === 30 * day, `${expiresInMs}`);
  }
});

Deno.test("a reservation is open for ten minutes", async () => {
  const { ledger, clock } = ledgerWorld();
  await ledger.grant("a", 10);
  const { reservation } = await ledger.reserve("a", 4);
  assertEquals(Date.parse(reservation?.expiresAt ?? "") - clock.now(), 10 * 60_000);
});

Deno.test("the key of a reservation is known for 35 days after the reservation has expired", async () => {
  for (const [elapsed, isKnown] of [[36 * day - 1, true], [36 * day, false]] as const) {
    const { ledger, advance } = ledgerWorld();
    await ledger.grant("a", 10);
    const reserve = () => ledger.reserve("a", 4, { key: "k", expiresInMs: day });
    assertEquals((await reserve()).replayed, false);
    advance(elapsed);
    assertEquals((await reserve()).replayed, isKnown);
  }
});

/** The faults of an account after its records were changed in the store. */
async function faultsWith(
  change: { readonly state?: Partial<AccountState>; readonly entry?: Partial<LedgerEntry> },
): Promise<readonly string[]> {
  const { ledger, store } = ledgerWorld();
  await ledger.grant("a", 10);
  await ledger.reserve("a", 4, { key: "k" });
  await ledger.consume("a", 1);
  const [audit] = await ledger.audit("a");
  assertEquals(audit, { account: "a", balance: 5, sum: 5, entries: 3, reserved: 4, faults: [] });
  const records = [
    [ledgerKeys.state("a"), change.state],
    [ledgerKeys.entry("a", 2), change.entry],
  ] as const;
  for (const [key, changed] of records) {
    const { value } = await store.get(key);
    assert(typeof value === "object");
    const mutations = [{ kind: "set", key, value: { ...value, ...changed } }] as const;
    await store.commit({ checks: [], mutations });
  }
  return (await ledger.audit("a"))[0]?.faults ?? [];
}

Deno.test("an audit finds each record that was changed", async () => {
  const hold = { id: "k", amount: 4, balance: 6, expiresAt: Infinity };
  assertEquals(await faultsWith({}), []);
  assertEquals(await faultsWith({ state: { balance: 6 } }), [
    "the entries give 5, the balance is 6",
  ]);
  assertEquals(await faultsWith({ state: { seq: 4 } }), ["there are 3 entries of 4"]);
  assertEquals(await faultsWith({ state: { holds: [] } }), ["1 reservations are open, not 0"]);
  assertEquals(await faultsWith({ state: { holds: [hold, { ...hold, id: "l" }] } }), [
    "1 reservations are open, not 2",
  ]);
  for (const other of [{ ...hold, id: "l" }, { ...hold, amount: 5 }]) {
    const faults = await faultsWith({ state: { holds: [other] } });
    assertEquals(faults, ["1 reservations are open, not 1"]);
  }
  assertEquals(await faultsWith({ entry: { seq: 5 } }), ["entry 2 has the number 5"]);
  assertEquals(await faultsWith({ entry: { balance: 7 } }), [
    "after entry 2 the balance is 7, the sum 6",
  ]);
  assertEquals(await faultsWith({ entry: { kind: "commit" } }), [
    "entry 2 ends a reservation that is not open",
    "0 reservations are open, not 1",
  ]);
  assertEquals(await faultsWith({ entry: { amount: -3 } }), [
    "after entry 2 the balance is 6, the sum 7",
    "after entry 3 the balance is 5, the sum 6",
    "the entries give 6, the balance is 5",
    "1 reservations are open, not 1",
  ]);
});
