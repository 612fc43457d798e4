import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { RequestBudget } from "../../src/guard/budget/request_budget.ts";
import { costOptionRule } from "../../src/guard/resource_protection_options.ts";
import { roundingTolerance } from "../../src/guard/budget/token_bucket.ts";
import { secondsUntilTokens } from "../../src/guard/budget/rate_limit_headers.ts";
import type { KeyValue, KeyValueKey } from "../../src/kv/key_value.ts";
import { StoreError, type StoreErrorKind } from "../../src/kv/store_error.ts";
import { bucket, limitWorld, window } from "./rate_limiter_support.ts";

Deno.test("200 parallel requests on a capacity of 10: exactly 10 are granted", async () => {
  for (const limit of [bucket(10), window(10)]) {
    const { limiter } = limitWorld().process(limit);
    const taken = await Promise.all(Array.from({ length: 200 }, () => limiter.take("ann", 1)));
    assertEquals(taken.filter(({ isGranted }) => isGranted).length, 10);
  }
});

Deno.test("callers and amounts: each has a bucket of its own, all of an amount or nothing", async () => {
  const { limiter } = limitWorld().process(bucket(5));
  assertEquals((await limiter.take("ann", 3)).isGranted, true);
  assertEquals((await limiter.take("ann", 3)).isGranted, false);
  assertEquals((await limiter.take("bob", 5)).isGranted, true);
  assertEquals((await limiter.take("ann", 2)).isGranted, true);
});

Deno.test("far from the limit at most one request in 32 calls the store", async () => {
  const world = limitWorld();
  const { granted } = world.process(bucket(100_000));
  assertEquals(await granted(6_400), 6_400);
  assert(world.trips() <= 200, `${world.trips()} trips`);
});

Deno.test("tokens that a process has leased are granted without waiting", async () => {
  const { limiter } = limitWorld().process(bucket(100_000));
  for (let n = 0; n < 2; n++) await limiter.take("ann", 1);
  for (let n = 0; n < 200; n++) assertEquals(limiter.take("ann", 1) instanceof Promise, false);
});

Deno.test("the next share is fetched while the last one is spent, so that no request waits for it", async () => {
  const world = limitWorld();
  const { limiter } = world.process(bucket(100_000));
  for (let n = 0; n < 2; n++) await limiter.take("ann", 1);
  for (let n = 0; n < 50_000; n++) {
    assertEquals(limiter.take("ann", 1) instanceof Promise, false, `request ${n}`);
    // As time passes between requests.
    if (n % 100 === 0) await world.advance(0);
  }
});

Deno.test("an exhausted caller is refused from memory, and found again a second later", async () => {
  const world = limitWorld();
  const [one, other] = [world.process(bucket(10)), world.process(bucket(10))];
  await one.granted(10);
  await one.granted(1);
  const before = world.trips();
  assertEquals(await one.granted(100), 0);
  assertEquals(world.trips(), before);
  other.limiter.refund("ann", 4);
  await other.limits.close();
  await world.advance(1_000);
  assertEquals(await one.granted(100), 4, "what another process gave back");
  assert(world.trips() > before);
});

Deno.test("four processes together grant the capacity and not one more", async () => {
  for (const limit of [bucket(1_000), window(1_000)]) {
    const world = limitWorld();
    const processes = Array.from({ length: 4 }, () => world.process(limit));
    let granted = 0;
    for (let round = 0; round < 1_000; round++) {
      for (const process of processes) granted += await process.granted(1);
    }
    assertEquals(granted, 1_000);
  }
});

Deno.test("tokens that a process holds and does not use are returned within two seconds", async () => {
  const world = limitWorld();
  const [one, other] = [world.process(bucket(10_000)), world.process(bucket(10_000))];
  await one.granted(10);
  for (let step = 0; step < 2; step++) await world.advance(1_000);
  assertEquals(await other.granted(10_001), 9_990);
});

Deno.test("closing returns leased tokens", async () => {
  const world = limitWorld();
  const [one, other] = [world.process(bucket(10_000)), world.process(bucket(10_000))];
  await one.granted(10);
  await one.limits.close();
  assertEquals(await other.granted(10_001), 9_990);
});

Deno.test("a bucket refills with time, and never above its capacity", async () => {
  const world = limitWorld();
  const { granted } = world.process(bucket(10, 1));
  assertEquals(await granted(20), 10);
  await world.advance(3_000);
  assertEquals(await granted(20), 3);
  await world.advance(3_600_000);
  assertEquals(await granted(20), 10);
});

Deno.test("a window ends as a whole, and leases of it end with it", async () => {
  const world = limitWorld();
  const { granted } = world.process(window(1_000));
  assertEquals(await granted(300), 300);
  await world.advance(59_000);
  assertEquals(await granted(1_000), 700);
  await world.advance(1_000);
  assertEquals(await granted(1_500), 1_000);
});

Deno.test("a clock that jumps a year ahead fills a bucket once; one that jumps back adds nothing", async () => {
  for (const limit of [bucket(1_000, 1), window(1_000)]) {
    const world = limitWorld();
    const { granted } = world.process(limit);
    assertEquals(await granted(500), 500);
    await world.jump(365 * 86_400_000);
    assertEquals(await granted(1_500), 1_000, limit.name);
    await world.jump(-365 * 86_400_000);
    assertEquals(await granted(100), 0, limit.name);
    await world.jump(-3_600_000);
    assertEquals(await granted(100), 0, limit.name);
    await world.advance(60_000);
    assert(await granted(100) >= 60, `${limit.name} refills after the clock was corrected`);
  }
});

Deno.test("clocks that differ by seconds do not refill a bucket by taking turns", async () => {
  const world = limitWorld();
  const { granted } = world.process(bucket(10, 1));
  await granted(10);
  let minted = 0;
  for (let turn = 0; turn < 20; turn++) {
    await world.jump(turn % 2 === 0 ? 5_000 : -5_000);
    await world.advance(1_000);
    minted += await granted(10);
  }
  assertEquals(minted, 24, "as much as the faster clock saw go by, once");
});

Deno.test("refunded tokens can be taken again, and raise no bucket above its capacity", async () => {
  const world = limitWorld();
  const { limiter, granted } = world.process(bucket(10, 1));
  assertEquals(await granted(10), 10);
  limiter.refund("ann", 4);
  assertEquals(await granted(10), 4);
  await world.advance(60_000);
  limiter.refund("ann", 10);
  assertEquals(await granted(30), 10);
});

Deno.test("with the store down a process limits by itself: neither a failure nor no limit", async () => {
  const world = limitWorld();
  let isDown = true;
  let asked = 0;
  const failing: KeyValue = {
    ...world.store,
    getMany(keys) {
      asked++;
      if (isDown) throw new StoreError("unavailable", new Error("gone"));
      return world.store.getMany(keys);
    },
  };
  const { granted } = world.process(bucket(10), failing);
  assertEquals(await granted(30), 10);
  assertEquals(asked, 1, "no request waits for a store that has just failed");
  assertEquals(world.observations.map(({ kind }) => kind), ["limits_unshared"]);
  isDown = false;
  await world.advance(1_000);
  assertEquals(await granted(30), 0, "the store learns of them, and permits no more");
});

Deno.test("what processes grant without the store is taken from the bucket of all afterwards", async () => {
  for (const limit of [bucket(10), window(10)]) {
    const world = limitWorld();
    const [one, switched] = [world.process(limit), switchedStore(world.store)];
    const cut = world.process(limit, switched.store);
    assertEquals(await cut.granted(1), 1);
    switched.isDown = true;
    assertEquals([await cut.granted(3), await one.granted(2)], [3, 2]);
    switched.isDown = false;
    // The caller sends nothing more to the process that owes tokens.
    for (let step = 0; step < 3; step++) await world.advance(1_000);
    assertEquals(await one.granted(20), 4, limit.name);
    assertEquals(await cut.granted(20), 0, limit.name);
  }
});

Deno.test("a store that fails again and again permits each process the capacity once", async () => {
  for (const kind of ["unavailable", "unknown-outcome"] as const) {
    const world = limitWorld();
    const switched = switchedStore(world.store, kind);
    const processes = Array.from(
      { length: 2 },
      () => world.process(bucket(10), switched.store),
    );
    let granted = 0;
    for (let turn = 0; turn < 40; turn++) {
      switched.isDown = turn % 2 === 0;
      for (const process of processes) granted += await process.granted(1);
      await world.advance(1_500);
    }
    assert(granted <= 20, `${granted} of 10 in two processes, ${kind}`);
  }
});

Deno.test("a process that owes tokens pays them when it closes", async () => {
  const world = limitWorld();
  const switched = switchedStore(world.store);
  const [one, cut] = [world.process(bucket(10)), world.process(bucket(10), switched.store)];
  switched.isDown = true;
  // The first second after the failure ends with one call, for the tokens of another caller.
  await cut.limiter.take("bob", 1);
  assertEquals(await cut.granted(3), 3);
  switched.isDown = false;
  await one.granted(1);
  await world.advance(1_000);
  await cut.limits.close();
  assertEquals(await one.granted(20), 6);
});

Deno.test("leased tokens are spent first while the store fails, and none is lost", async () => {
  const world = limitWorld();
  const switched = switchedStore(world.store);
  const limit = bucket(10_000);
  const [one, cut] = [world.process(limit), world.process(limit, switched.store)];
  await cut.granted(10);
  switched.isDown = true;
  assertEquals(await cut.granted(2_000), 2_000);
  await one.granted(1);
  switched.isDown = false;
  for (let step = 0; step < 4; step++) await world.advance(1_000);
  assertEquals(await one.granted(10_000), 10_000 - 10 - 2_000 - 1);
});

Deno.test("after a failure one call a second finds out if the store responds again", async () => {
  const world = limitWorld();
  const switched = switchedStore(world.store);
  const { limiter } = world.process(bucket(10), switched.store);
  switched.isDown = true;
  for (let caller = 0; caller < 50; caller++) await limiter.take(`caller ${caller}`, 1);
  assertEquals(switched.refused, 1);
  for (let step = 0; step < 10; step++) await world.advance(1_000);
  assert(switched.refused <= 11, `${switched.refused} calls of a store that fails`);
  switched.isDown = false;
  for (let step = 0; step < 3; step++) await world.advance(1_000);
  const other = world.process(bucket(10)).limiter;
  for (let caller = 0; caller < 50; caller++) {
    assertEquals((await other.take(`caller ${caller}`, 10)).isGranted, false);
  }
});

Deno.test("a store that never answers holds a request for three seconds and no longer", async () => {
  const world = limitWorld();
  const hanging: KeyValue = { ...world.store, getMany: () => new Promise(() => {}) };
  const { limiter, granted } = world.process(bucket(3), hanging);
  const first = limiter.take("ann", 1);
  await world.advance(3_000);
  assertEquals((await first).isGranted, true);
  assertEquals(await granted(10), 2);
});

Deno.test("tokens are available after the wait that Retry-After says", async () => {
  for (const perMinute of [1, 7, 59, 61, 1_000 / 3]) {
    const world = limitWorld();
    const { limiter, granted } = world.process(bucket(20, perMinute / 60));
    await granted(20);
    for (const amount of [1, 3, 20]) {
      const { left } = await limiter.take("ann", amount);
      const seconds = secondsUntilTokens(
        amount,
        { limit: limiter.limit, left },
        world.runtime.clock.now(),
      );
      assert(seconds !== null && seconds > 0);
      await world.advance(1_000 * seconds);
      assertEquals((await limiter.take("ann", amount)).isGranted, true, `${perMinute} ${amount}`);
      await limiter.takeToFloor("ann", 20);
    }
  }
});

Deno.test("takeToFloor takes what is left and never goes below", async () => {
  const { limiter, granted } = limitWorld().process(bucket(5));
  await granted(3);
  const taken = await limiter.takeToFloor("ann", 4);
  assertEquals([taken.isGranted, taken.amount, taken.left.tokens], [true, 2, 0]);
  assertEquals((await limiter.takeToFloor("ann", 4)).amount, 0);
});

Deno.test("tokens that are returned and taken again at once are not taken twice", async () => {
  const { limiter } = limitWorld().process(bucket(2));
  await limiter.take("ann", 2);
  limiter.refund("ann", 2);
  // The first leaves the bucket just as it was before they were returned.
  const taken = await Promise.all([limiter.takeToFloor("ann", 5), limiter.take("ann", 2)]);
  assertEquals(taken.map(({ isGranted, amount }) => [isGranted, amount]), [[true, 2], [false, 0]]);
});

Deno.test("a foreign record under the key is no bucket, and gives nothing", async () => {
  const world = limitWorld();
  const { granted } = world.process(bucket(3));
  await granted(1);
  const [entry] = await world.store.list({ prefix: ["limit"], limit: 10 });
  await world.store.commit({
    mutations: [{ kind: "set", key: entry?.key ?? [], value: { tokens: "many" } }],
  });
  assertEquals(await granted(10), 2);
});

Deno.test("the deficit of a budget is its cost without what was taken and what is left", async () => {
  const { limiter } = limitWorld().process(bucket(10));
  const first = new RequestBudget(limiter, "ann", 6);
  assertEquals([first.deficit, await first.take(1), first.deficit], [0, true, -4]);
  const second = new RequestBudget(limiter, "ann", 6);
  assertEquals([await second.take(1), second.deficit], [false, 2]);
  assertEquals([await second.takeRest(), second.deficit], [true, 2]);
});

Deno.test("the lowest cost of an operation is 0, and then a thousandth", () => {
  const { fits } = costOptionRule.rules;
  assertEquals([0, 0.001, 0.0009, -1].map(fits), [true, true, false, false]);
});

Deno.test("no id and no address is in the store", async () => {
  const world = limitWorld();
  const { limiter } = world.process(bucket(3));
  const names = ["xyzzy-203.0.113.7", "\ud800", "\ufffd", "nul\0", "x".repeat(5_000)];
  for (const name of names) await limiter.take(name, 1);
  const entries = await world.store.list({ prefix: ["limit"], limit: 10 });
  assertEquals(entries.length, names.length, "and no two share a record");
  assert(entries.every(({ key }) => JSON.stringify(key).length < 60));
});

Deno.test("a process alone grants exactly what one bucket without shares would", async () => {
  const step = fc.record({
    pauseMs: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 4_000 })),
    amount: fc.integer({ min: 0, max: 40 }),
  });
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: 3_000 }),
      fc.integer({ min: 0, max: 200 }),
      fc.array(step, { minLength: 50, maxLength: 200 }),
      async (capacity, perSecond, steps) => {
        const world = limitWorld();
        const { limiter } = world.process(bucket(capacity, perSecond));
        let tokens = capacity;
        for (const { pauseMs, amount } of steps) {
          if (pauseMs > 0) await world.advance(pauseMs);
          tokens = Math.min(capacity, tokens + pauseMs * perSecond / 1_000);
          const { isGranted } = await limiter.take("ann", amount);
          assertEquals(isGranted, tokens + roundingTolerance >= amount);
          if (isGranted) tokens = Math.max(0, tokens - amount);
        }
      },
    ),
    { numRuns: 40 },
  );
});

/** A store that fails while `isDown` is true. */
function switchedStore(store: KeyValue, kind: StoreErrorKind = "unavailable") {
  const switched = {
    isDown: false,
    refused: 0,
    store: {
      ...store,
      getMany: (keys: readonly KeyValueKey[]) => {
        if (!switched.isDown) return store.getMany(keys);
        switched.refused++;
        throw new StoreError(kind, new Error("gone"));
      },
    },
  };
  return switched;
}
