import { assert, assertEquals, assertRejects } from "@std/assert";
import { KvLedger } from "../../src/billing/ledger/kv_ledger.ts";
import type { KeyValue } from "../../src/kv/key_value.ts";
import { Problem } from "../../src/problem/problem.ts";
import type { Clock } from "../../src/runtime/runtime.ts";
import { systemRuntime } from "../../src/runtime/system_runtime.ts";
import { testUnless } from "../support/skip.ts";

/** A store to keep balances in. */
export interface LedgerStoreUnderTest {
  readonly name: string;
  /** Why it cannot be opened here; null where it can. */
  readonly missing?: string | null;
  /** A fresh one; closing it removes what it left. */
  readonly open: (clock: Clock) => Promise<KeyValue>;
}

const { random, clock: realClock } = systemRuntime(() => {});

/** What the ledger promises over every store, as tests over one. */
export function exerciseLedger({ name, open, missing = null }: LedgerStoreUnderTest): void {
  function test(
    promise: string,
    work: (ledger: KvLedger, advance: (ms: number) => void) => Promise<void>,
  ): void {
    testUnless(missing, `ledger, ${name}: ${promise}`, async () => {
      let now = 1_800_000_000_000;
      // Time stands still for the ledger, and runs for deadlines.
      const clock: Clock = { ...realClock, now: () => now };
      const store = await open(clock);
      try {
        const ledger = new KvLedger(store, { clock, random });
        await work(ledger, (ms) => now += ms);
        for (const { account, faults } of await ledger.audit()) {
          assertEquals(faults, [], account);
        }
      } finally {
        await store.close();
      }
    });
  }

  test("balances are granted and consumed, and the history tells how", histories);
  test("an overdraft is refused and leaves nothing, unless it is allowed", overdrafts);
  test("100 parallel consume(1) on 50 succeed 50 times", parallelConsumptions);
  test("a key is used once, for one amount", keys);
  test("the key of a grant belongs to one account for ever", grantKeys);
  test("64 grants at once with one key are one grant", async (ledger) => {
    const results = await Promise.all(
      Array.from({ length: 64 }, () => ledger.grant("a", 7, { key: "grant:x:1" })),
    );
    assertEquals(results.filter(({ replayed }) => !replayed).length, 1);
    assertEquals(new Set(results.map(({ balance }) => balance)), new Set([7]));
    assertEquals(await ledger.balance("a"), 7);
  });
  test("a reservation is committed, in whole or in part, or released, once", reservations);
  test("a reservation that is not ended returns after its time", expiries);
  test("a repeated reservation is the first one, whatever became of it", repeatedReservations);
  test("a grant is reversed in parts, never more than it gave", reversals);
  test("without a key each partial reversal takes, until the grant is used up", partialReversals);
  test("amounts that are no whole numbers from 1 to 2^53 - 1 are 422", wrongAmounts);
  test("a balance never leaves the exact integers", extremes);
  test("accounts of every name are apart", names);
  test("pages of the history continue while entries are added", pages);
}

async function histories(ledger: KvLedger): Promise<void> {
  assertEquals(await ledger.balance("a"), 0);
  assertEquals(await ledger.history("a"), []);
  assertEquals(await ledger.grant("a", 50, { reason: "welcome" }), result(true, 50));
  assertEquals(await ledger.consume("a", 20, { reason: "render" }), result(true, 30));
  assertEquals(await ledger.balance("a"), 30);
  assertEquals(await ledger.history("a"), [
    { seq: 2, kind: "consume", amount: -20, balance: 30, at, reason: "render" },
    { seq: 1, kind: "grant", amount: 50, balance: 50, at, reason: "welcome" },
  ]);
  const [audit] = await ledger.audit("a");
  assertEquals(audit, {
    ...{ account: "a", balance: 30, sum: 30, entries: 2, reserved: 0, faults: [] },
  });
}

async function overdrafts(ledger: KvLedger): Promise<void> {
  await ledger.grant("a", 5);
  assertEquals(await ledger.consume("a", 6), result(false, 5));
  assertEquals(await ledger.consume("a", 6, { key: "k" }), result(false, 5));
  assertEquals((await ledger.history("a")).length, 1);
  assertEquals(await ledger.consume("a", 6, { allowNegative: true }), result(true, -1));
  assertEquals(await ledger.consume("a", 1), result(false, -1));
  await ledger.grant("a", 10);
  // What was refused under a key is decided again.
  assertEquals(await ledger.consume("a", 6, { key: "k" }), result(true, 3));
}

async function parallelConsumptions(ledger: KvLedger): Promise<void> {
  await ledger.grant("a", 50);
  const results = await Promise.all(Array.from({ length: 100 }, () => ledger.consume("a", 1)));
  assertEquals(results.filter(({ ok }) => ok).length, 50);
  assertEquals(await ledger.balance("a"), 0);
  const history = await ledger.history("a", 100);
  assertEquals(history.length, 51);
  assertEquals(history.reduce((sum, { amount }) => sum + amount, 0), 0);
  // Each balance is the one right after its operation.
  const balances = results.filter(({ ok }) => ok).map(({ balance }) => balance);
  assertEquals(balances.toSorted((x, y) => x - y), Array.from({ length: 50 }, (_, n) => n));
}

async function keys(ledger: KvLedger): Promise<void> {
  await ledger.grant("a", 10);
  await ledger.grant("b", 10);
  assertEquals(await ledger.consume("a", 3, { key: "k" }), result(true, 7));
  await ledger.consume("a", 1);
  assertEquals(await ledger.consume("a", 3, { key: "k" }), result(true, 7, true));
  await refuses(() => ledger.consume("a", 4, { key: "k" }), "idempotency-key-reused");
  await refuses(() => ledger.grant("a", 3, { key: "k" }), "idempotency-key-reused");
  assertEquals(await ledger.consume("b", 4, { key: "k" }), result(true, 6));
  assertEquals(await ledger.balance("a"), 6);
}

async function grantKeys(ledger: KvLedger): Promise<void> {
  assertEquals(await ledger.findGrant("grant:x:1"), null);
  await ledger.grant("a", 5, { key: "grant:x:1" });
  assertEquals(await ledger.findGrant("grant:x:1"), { account: "a", amount: 5 });
  await refuses(() => ledger.grant("b", 5, { key: "grant:x:1" }), "idempotency-key-reused");
  await refuses(() => ledger.grant("a", 6, { key: "grant:x:1" }), "idempotency-key-reused");
  assertEquals(await ledger.grant("a", 5, { key: "grant:x:1" }), result(true, 5, true));
  assertEquals([await ledger.balance("a"), await ledger.balance("b")], [5, 0]);
}

async function reservations(ledger: KvLedger): Promise<void> {
  await ledger.grant("a", 10);
  const first = await ledger.reserve("a", 6, { reason: "render" });
  assertEquals([first.ok, first.balance], [true, 4]);
  assert(first.reservation !== null);
  assertEquals((await ledger.reserve("a", 5)).reservation, null);
  assertEquals((await ledger.audit("a"))[0]?.reserved, 6);
  await refuses(() => ledger.commit(first.reservation!, { amount: 7 }), "conflict");
  assertEquals(await ledger.commit(first.reservation, { amount: 2 }), {
    ...result(true, 8),
    state: "committed",
  });
  assertEquals((await ledger.commit(first.reservation)).replayed, true);
  assertEquals(await ledger.release(first.reservation), {
    ...result(false, 8, true),
    state: "committed",
  });
  const again = {
    account: "a",
    id: (await ledger.reserve("a", 1, { key: "job 0" })).reservation!.id,
  };
  await ledger.commit(again);
  const afterwards = await ledger.reserve("a", 1, { key: "job 0" });
  assertEquals([afterwards.replayed, afterwards.reservation?.state], [true, "committed"]);
  await ledger.grant("a", 1);
  const second = await ledger.reserve("a", 8, { key: "job 1" });
  assertEquals((await ledger.reserve("a", 8, { key: "job 1" })).replayed, true);
  await refuses(() => ledger.reserve("a", 7, { key: "job 1" }), "idempotency-key-reused");
  assertEquals((await ledger.release({ account: "a", id: "job 1" })).balance, 8);
  assertEquals((await ledger.release(second.reservation!)).replayed, true);
  assertEquals((await ledger.commit(second.reservation!)).ok, false);
  await refuses(() => ledger.commit({ account: "a", id: "none" }), "not-found");
  assertEquals(
    (await ledger.history("a")).map(({ kind, amount }) => `${kind} ${amount}`),
    [
      ...["release 8", "reserve -8", "grant 1", "commit 0", "reserve -1"],
      ...["commit 4", "reserve -6", "grant 10"],
    ],
  );
}

async function expiries(ledger: KvLedger, advance: (ms: number) => void): Promise<void> {
  await ledger.grant("a", 10);
  const short = await ledger.reserve("a", 4, { expiresInMs: 1_000 });
  const long = await ledger.reserve("a", 5, { expiresInMs: 9_000 });
  advance(999);
  assertEquals(await ledger.balance("a"), 1);
  advance(1);
  // Nothing runs at that time: the next operation, also a read, returns it.
  assertEquals(await ledger.balance("a"), 5);
  assertEquals(await ledger.commit(short.reservation!), {
    ...result(false, 5, true),
    state: "expired",
  });
  advance(60_000);
  assertEquals(await ledger.consume("a", 10), result(true, 0));
  assertEquals((await ledger.release(long.reservation!)).state, "expired");
  assertEquals(
    (await ledger.history("a")).map(({ kind }) => kind),
    ["consume", "expire", "expire", "reserve", "reserve", "grant"],
  );
}

async function repeatedReservations(
  ledger: KvLedger,
  advance: (ms: number) => void,
): Promise<void> {
  await ledger.grant("a", 10);
  const repeat = (key: string) => ledger.reserve("a", 1, { key, expiresInMs: 1_000 });
  const firsts = [];
  for (const key of ["open", "committed", "released", "expired"]) {
    const first = await repeat(key);
    assertEquals([first.replayed, first.reservation?.state], [false, "open"]);
    if (key === "committed") await ledger.commit(first.reservation!);
    if (key === "released") await ledger.release(first.reservation!);
    if (key === "expired") advance(1_000);
    firsts.push(first);
  }
  // Time is over for the first one, too; it is open until the next operation.
  for (const { balance, reservation } of firsts) {
    const { id } = reservation!;
    const state = id === "open" ? "expired" : id;
    const again = await repeat(id);
    assertEquals(again, {
      ...result(true, balance, true),
      reservation: { ...reservation!, state: again.reservation!.state },
    });
    assertEquals(again.reservation?.state, state);
    // It holds nothing, and says so.
    const ended = await ledger.commit(again.reservation!);
    assertEquals([ended.ok, ended.state], [state === "committed", state]);
    await refuses(() => ledger.reserve("a", 2, { key: id }), "idempotency-key-reused");
  }
  const anew = await ledger.reserve("a", 1, { key: "expired, again" });
  assertEquals((await repeat("expired")).reservation?.state, "expired");
  assertEquals((await ledger.commit(anew.reservation!)).ok, true);
  assertEquals(await ledger.balance("a"), 8);
}

async function reversals(ledger: KvLedger): Promise<void> {
  await ledger.grant("a", 10, { key: "grant:x:1" });
  await ledger.consume("a", 8);
  await refuses(() => ledger.reverse("grant:x:2"), "not-found");
  assertEquals(await ledger.reverse("grant:x:1", { amount: 4, key: "re_1" }), result(true, -2));
  assertEquals((await ledger.reverse("grant:x:1", { amount: 4, key: "re_1" })).replayed, true);
  await refuses(() => ledger.reverse("grant:x:1", { amount: 7, key: "re_2" }), "conflict");
  assertEquals(await ledger.reverse("grant:x:1"), result(true, -8));
  assertEquals((await ledger.reverse("grant:x:1")).replayed, true);
  assertEquals(await ledger.balance("a"), -8);
}

async function partialReversals(ledger: KvLedger): Promise<void> {
  await ledger.grant("a", 100, { key: "grant:x:1" });
  for (const [amount, left] of [[30, 70], [30, 40], [20, 20]] as const) {
    assertEquals(await ledger.reverse("grant:x:1", { amount }), result(true, left));
  }
  await refuses(() => ledger.reverse("grant:x:1", { amount: 21 }), "conflict");
  assertEquals(await ledger.reverse("grant:x:1"), result(true, 0));
  assertEquals(await ledger.reverse("grant:x:1"), result(true, 0, true));
  await ledger.grant("b", 100, { key: "grant:x:2" });
  const parts = Array.from({ length: 20 }, () => ledger.reverse("grant:x:2", { amount: 30 }));
  const outcomes = await Promise.allSettled(parts);
  assertEquals(outcomes.filter(({ status }) => status === "fulfilled").length, 3);
  assertEquals(await ledger.balance("b"), 10);
  // A key that is given is done once, whatever was reversed without one since.
  assertEquals(await ledger.reverse("grant:x:2", { amount: 5, key: "re_1" }), result(true, 5));
  await ledger.reverse("grant:x:2", { amount: 5 });
  assertEquals(
    await ledger.reverse("grant:x:2", { amount: 5, key: "re_1" }),
    result(true, 5, true),
  );
  assertEquals(await ledger.balance("b"), 0);
}

async function wrongAmounts(ledger: KvLedger): Promise<void> {
  const amounts: readonly unknown[] = [
    ...[0, -1, 0.5, 1e-9, NaN, Infinity, -Infinity, 2 ** 53, "5", null, undefined, 5n, [5], {}],
  ];
  for (const given of amounts) {
    // Wrong on purpose.
    const amount = given as number;
    await refuses(() => ledger.grant("a", amount), "validation-error");
    await refuses(() => ledger.consume("a", amount), "validation-error");
    await refuses(() => ledger.consume("a", amount, { allowNegative: true }), "validation-error");
    await refuses(() => ledger.reserve("a", amount), "validation-error");
  }
  for (const account of ["", "half \ud800", 5, null, "x".repeat(1_025)]) {
    // Wrong on purpose.
    await refuses(() => ledger.grant(account as string, 1), "validation-error");
  }
  assertEquals(await ledger.audit(), []);
}

async function extremes(ledger: KvLedger): Promise<void> {
  const most = Number.MAX_SAFE_INTEGER;
  assertEquals(await ledger.grant("a", most), result(true, most));
  const outcomes = await Promise.allSettled([
    ledger.grant("a", 1),
    ledger.consume("a", 5),
    ledger.grant("a", 5),
    ledger.grant("a", 1),
  ]);
  assertEquals(outcomes.map(({ status }) => status), [
    "rejected",
    "fulfilled",
    "fulfilled",
    "rejected",
  ]);
  assertEquals(await ledger.balance("a"), most);
  await ledger.consume("b", most, { allowNegative: true });
  await refuses(() => ledger.consume("b", 1, { allowNegative: true }), "conflict");
}

async function names(ledger: KvLedger): Promise<void> {
  const accounts = [
    ...["a", "a\0", "a\0b", "A", "é", "e\u0301", "\ufffd", "😀", "x".repeat(64), "x".repeat(65)],
    ...["x".repeat(1_024), "x".repeat(1_023) + "y", "__proto__", "1", " "],
  ];
  await Promise.all(accounts.map((account, n) => ledger.grant(account, n + 1)));
  const balances = await Promise.all(accounts.map((account) => ledger.balance(account)));
  assertEquals(balances, accounts.map((_, n) => n + 1));
  const audited = (await ledger.audit()).map(({ account }) => account);
  assertEquals(audited.toSorted(), accounts.toSorted());
}

async function pages(ledger: KvLedger): Promise<void> {
  for (let n = 1; n <= 7; n++) await ledger.grant("a", n);
  const seen: number[] = [];
  let page = await ledger.history("a", 3);
  while (page.length > 0) {
    seen.push(...page.map(({ seq }) => seq));
    await ledger.consume("a", 1);
    page = await ledger.history("a", { count: 3, before: page.at(-1)?.seq });
  }
  assertEquals(seen, [7, 6, 5, 4, 3, 2, 1]);
}

const at = new Date(1_800_000_000_000).toISOString();

function result(ok: boolean, balance: number, replayed = false) {
  return { ok, balance, replayed };
}

/** Rejects with a Problem of this code. */
export async function refuses(work: () => Promise<unknown>, slug: string): Promise<void> {
  const error = await assertRejects(async () => await work(), Problem);
  assertEquals(error.slug, slug, error.message);
}
