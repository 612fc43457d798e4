import { assert, assertEquals } from "@std/assert";
import { charged } from "../../src/billing/ledger/charged.ts";
import { openCreditsLedger } from "../../src/billing/open_billing.ts";
import { Problem } from "../../src/problem/problem.ts";
import { systemRuntime } from "../../src/runtime/system_runtime.ts";
import { refuses } from "../conformance/credits_ledger.ts";

const ada = { user: { id: "ada" } };

Deno.test("a charged handler costs its amount when it succeeds, and nothing when it throws", async () => {
  const credits = await openCreditsLedger({ kv: ":memory:" });
  await credits.grant("ada", 5);
  const work = charged(credits, { amount: 3, reason: "work" }, (_context, fails: boolean) => {
    if (fails) throw new Problem("conflict", "not now");
    return "done";
  });
  await refuses(() => work(ada, true), "conflict");
  assertEquals(await credits.balance("ada"), 5);
  assertEquals(await work(ada, false), "done");
  assertEquals(await credits.balance("ada"), 2);
  assertEquals(
    (await credits.history("ada")).map(({ kind }) => kind),
    ["commit", "reserve", "release", "reserve", "grant"],
  );
  await credits.close();
});

Deno.test("without enough credits the handler does not run, also of many at once", async () => {
  const credits = await openCreditsLedger({ kv: ":memory:" });
  await credits.grant("ada", 10);
  let runs = 0;
  const work = charged<typeof ada, null, number>(
    credits,
    { amount: ({ user }) => user.id.length },
    () => ++runs,
  );
  const outcomes = await Promise.allSettled(Array.from({ length: 20 }, () => work(ada, null)));
  assertEquals([runs, await credits.balance("ada")], [3, 1]);
  const [refusal] = outcomes.flatMap((one) => one.status === "rejected" ? [one.reason] : []);
  assert(refusal instanceof Problem);
  assertEquals(
    [refusal.status, refusal.slug, refusal.details],
    [402, "insufficient-credits", { cost: 3, balance: 1 }],
  );
  const open = charged<{ user: { id: string } | null }, null, number>(
    credits,
    { amount: 1 },
    () => 1,
  );
  await refuses(() => open({ user: null }, null), "unauthorized");
  await credits.close();
});

Deno.test("a handler that outlives its reservation is charged all the same, once", async () => {
  let now = 1_800_000_000_000;
  const system = systemRuntime(() => {});
  const runtime = { ...system, clock: { ...system.clock, now: () => now } };
  const credits = await openCreditsLedger({ kv: ":memory:", runtime });
  await credits.grant("ada", 3);
  const work = charged(credits, { amount: 3, expiresInMs: 1_000 }, async () => {
    now += 2_000;
    await credits.consume("ada", 2);
  });
  await work(ada, null);
  assertEquals(await credits.balance("ada"), -2);
  assertEquals((await credits.audit("ada"))[0]?.faults, []);
  await credits.close();
});

Deno.test("of handlers that outlive their reservations those that succeed are charged, once each", async () => {
  let now = 1_800_000_000_000;
  const system = systemRuntime(() => {});
  const runtime = { ...system, clock: { ...system.clock, now: () => now } };
  const credits = await openCreditsLedger({ kv: ":memory:", runtime });
  await credits.grant("ada", 12);
  const gate = Promise.withResolvers<void>();
  const allRun = Promise.withResolvers<void>();
  let running = 0;
  const work = charged(
    credits,
    { amount: 3, reason: "work", expiresInMs: 1_000 },
    async (_context, fails: boolean) => {
      if (++running === 4) allRun.resolve();
      await gate.promise;
      if (fails) throw new Problem("conflict", "not now");
      return "done";
    },
  );
  const calls = [false, true, false, true].map((fails) => work(ada, fails));
  await allRun.promise;
  assertEquals(await credits.balance("ada"), 0);
  now += 1_000;
  assertEquals(await credits.balance("ada"), 12, "their time is over while they run");
  await credits.consume("ada", 10);
  gate.resolve();
  const outcomes = await Promise.allSettled(calls);
  assertEquals(
    outcomes.map(({ status }) => status),
    ["fulfilled", "rejected", "fulfilled", "rejected"],
  );
  assertEquals(await credits.balance("ada"), -4);
  const entries = await credits.history("ada");
  const late = entries.filter(({ kind, reason }) => kind === "consume" && reason === "work");
  assertEquals(new Set(late.map(({ key }) => key)).size, 2);
  assertEquals(late.map(({ amount }) => amount), [-3, -3]);
  const audit = (await credits.audit("ada"))[0];
  assertEquals([audit?.reserved, audit?.faults], [0, []]);
  await credits.close();
});
