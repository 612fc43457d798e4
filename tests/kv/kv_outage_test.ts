import { assert, assertEquals, assertRejects } from "@std/assert";
import { KvIdempotency } from "../../src/idempotency/kv_idempotency.ts";
import { claimOnce } from "./claim_once.ts";
import { createDenoKeyValue } from "../../src/kv/deno_key_value.ts";
import { idempotencyLeaseMs } from "../../src/idempotency/idempotency_store.ts";
import type { KeyValue } from "../../src/kv/key_value.ts";
import { type Clock, runAfterPendingIo } from "../../src/runtime/runtime.ts";
import { StoreError } from "../../src/kv/store_error.ts";
import { systemRuntime } from "../../src/runtime/system_runtime.ts";
import { set } from "../conformance/key_value.ts";
import { handClock } from "../db/hand_clock.ts";
import { faultyKv } from "../support/faulty_kv.ts";
import { type KvOutage, type KvWithOutages, kvWithOutages } from "../support/kv_with_outages.ts";

const { random } = systemRuntime(() => {});
const outages: readonly KvOutage[] = ["unreachable", "answers lost"];

/** Two processes on one store; the first one's network fails. */
interface World {
  readonly clock: Clock;
  readonly network: KvWithOutages;
  readonly store: KeyValue;
  readonly other: KeyValue;
  /** Moves time, once no work is pending, and runs the work that it starts. */
  advance(ms: number): Promise<void>;
}

async function inOutages(work: (world: World) => Promise<void>): Promise<void> {
  const { clock, advance } = handClock();
  const kv = await Deno.openKv(":memory:");
  const network = kvWithOutages(kv);
  try {
    await work({
      clock,
      network,
      store: createDenoKeyValue(network.kv, { clock, random }),
      other: createDenoKeyValue(kv, { clock, random }),
      async advance(ms) {
        await drainEvents();
        advance(ms);
        await drainEvents();
      },
    });
  } finally {
    kv.close();
  }
}

async function drainEvents(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await new Promise<void>(runAfterPendingIo);
}

/** The outcome of work that starts now, when time moves beyond every deadline. */
async function refused(work: () => Promise<unknown>, { advance }: World): Promise<void> {
  const refusal = assertRejects(work, StoreError);
  for (const ms of [3_000, 500]) await advance(ms);
  await refusal;
}

const key = ["used", "x"];

for (const outage of outages) {
  Deno.test(`a use that was refused in an outage is made by the same caller after it, once (${outage})`, async () => {
    await inOutages(async (world) => {
      const { network, store, other } = world;
      for (let n = 0; n < 6; n++) {
        const use = (of: KeyValue) => claimOnce(of, [...key, n], 600_000);
        network.goDown(outage);
        await refused(() => use(store), world);
        await network.comeBack();
        assertEquals([await use(store), await use(store), await use(other)], [true, false, false]);
      }
    });
  });

  Deno.test(`a use that was refused in an outage is made after it in another process, once (${outage})`, async () => {
    await inOutages(async (world) => {
      const { network, store, other } = world;
      const use = (of: KeyValue) => claimOnce(of, key, 600_000);
      network.goDown(outage);
      await refused(() => use(store), world);
      await network.comeBack();
      assertEquals([await use(other), await use(store), await use(other)], [true, false, false]);
    });
  });

  Deno.test(`a use that another process made during an outage is not undone after it (${outage})`, async () => {
    await inOutages(async (world) => {
      const { network, store, other } = world;
      assertEquals(await claimOnce(other, key, 600_000), true);
      network.goDown(outage);
      await refused(() => claimOnce(store, key, 600_000), world);
      await network.comeBack();
      assertEquals(await claimOnce(store, key, 600_000), false);
      assertEquals(await claimOnce(other, key, 600_000), false);
    });
  });

  Deno.test(`a key that was refused in an outage is free for the same request after it (${outage})`, async () => {
    await inOutages(async (world) => {
      const { clock, network, store, other } = world;
      const [own, others] = [store, other].map((store) =>
        new KvIdempotency({ store, clock, ttlMs: 86_400_000 })
      );
      assert(own !== undefined && others !== undefined);
      const claimOf = (owner: string) => ({ id: "key", fingerprint: "f", owner, share: "s" });
      network.goDown(outage);
      await refused(() => own.claim(claimOf("first")), world);
      await network.comeBack();
      assertEquals(await own.find(claimOf("second")), null);
      const both = await Promise.all([own.claim(claimOf("second")), own.claim(claimOf("third"))]);
      assertEquals(both.map(({ kind }) => kind).sort(), ["claimed", "in-flight"]);
      assertEquals((await others.claim(claimOf("fourth"))).kind, "in-flight");
    });
  });
}

for (const outage of outages) {
  Deno.test(`a use that is made again while the refused one is still on its way is one use (${outage})`, async () => {
    await inOutages(async (world) => {
      const { network, store, other } = world;
      const use = (of: KeyValue) => claimOnce(of, key, 600_000);
      network.goDown(outage);
      await refused(() => use(store), world);
      await world.advance(1_000);
      network.answer();
      assertEquals([await use(store), await use(store), await use(other)], [true, false, false]);
      await network.comeBack();
      assertEquals([await use(store), await use(other)], [false, false]);
    });
  });
}

Deno.test("a claim that meets a refused one while that is removed is made", async () => {
  const { clock } = handClock();
  const kv = await Deno.openKv(":memory:");
  try {
    // The record that fails the check is gone before it is read.
    await claimOnce(createDenoKeyValue(kv, { clock, random }), key, 600_000);
    const [entry] = await Array.fromAsync(kv.list({ prefix: [] }));
    assert(entry !== undefined);
    let looks = 0;
    const racing: typeof kv.getMany = async (keys, options) => {
      if (++looks === 1) await kv.delete(entry.key);
      return await kv.getMany(keys, options);
    };
    const store = createDenoKeyValue({
      get: (key) => kv.get(key),
      getMany: racing,
      list: (selector, options) => kv.list(selector, options),
      atomic: () => kv.atomic(),
      close: () => {},
    }, { clock, random });
    assertEquals(await claimOnce(store, key, 600_000), true);
    assertEquals(await claimOnce(store, key, 600_000), false);
  } finally {
    kv.close();
  }
});

Deno.test("a key that could not be released in an outage is free for the next request", async () => {
  await inOutages(async (world) => {
    const { clock, network, store } = world;
    const keys = new KvIdempotency({ store, clock, ttlMs: 86_400_000 });
    const claimOf = (owner: string) => ({ id: "key", fingerprint: "f", owner, share: "s" });
    assertEquals((await keys.claim(claimOf("first"))).kind, "claimed");
    network.goDown("unreachable");
    await refused(() => keys.release(claimOf("first")), world);
    await network.comeBack();
    assert(clock.now() < idempotencyLeaseMs, "it has not run out");
    assertEquals((await keys.claim(claimOf("second"))).kind, "claimed");
    assertEquals((await keys.claim(claimOf("third"))).kind, "in-flight");
  });
});

Deno.test("while the store is silent no commit is sent, and hardly a read", async () => {
  await inOutages(async (world) => {
    const { network, store, advance } = world;
    await set(store, ["a"], 1);
    network.goDown("unreachable");
    const first = assertRejects(() => claimOnce(store, key, 1_000), StoreError);
    await advance(500);
    const before = { ...network.sent };
    const waiting = Array.from(
      { length: 300 },
      (_, n) => assertRejects(() => claimOnce(store, [...key, n], 1_000), StoreError),
    );
    for (let step = 0; step < 6; step++) await advance(500);
    await Promise.all([first, ...waiting]);
    for (let second = 0; second < 60; second++) {
      const more = Array.from(
        { length: 30 },
        async (_, n) =>
          (await assertRejects(() => claimOnce(store, [...key, n], 1), StoreError)).kind,
      );
      await advance(1_000);
      assertEquals(new Set(await Promise.all(more)), new Set(["unavailable"]));
    }
    assertEquals(network.sent.commits, before.commits);
    assert(network.sent.reads - before.reads <= 25, `${network.sent.reads} reads`);
    await network.comeBack();
    assertEquals(await claimOnce(store, [...key, "after"], 1_000), true, "at once");
    assertEquals((await store.get(["a"])).value, 1);
  });
});

Deno.test("of a burst that meets an outage some commits are sent, and of one that does not, all", async () => {
  await inOutages(async (world) => {
    const { network, store, advance } = world;
    const burst = (of: KeyValue) =>
      Promise.allSettled(
        Array.from({ length: 300 }, (_, n) => claimOnce(of, [...key, n], 600_000)),
      );
    network.goDown("answers lost");
    const refusing = burst(store);
    await advance(0);
    assert(network.sent.commits <= 64, `${network.sent.commits} commits`);
    for (const ms of [3_000, 500]) await advance(ms);
    assertEquals(new Set((await refusing).map(({ status }) => status)), new Set(["rejected"]));
    assert(network.sent.commits <= 64, `${network.sent.commits} commits`);
    await network.comeBack();
    for (const result of await burst(store)) {
      assertEquals(result, { status: "fulfilled", value: true });
    }
  });
});

Deno.test("a store that is slow delays commits, and refuses none", async () => {
  await inOutages(async (world) => {
    const { network, store, advance } = world;
    network.goDown("unreachable");
    const first = claimOnce(store, [...key, 1], 600_000);
    await advance(600);
    const second = claimOnce(store, [...key, 2], 600_000);
    await advance(2_000);
    assertEquals(network.sent.commits, 1);
    await network.comeBack();
    assertEquals([await first, await second], [true, true]);
  });
});

Deno.test("an operation that is never answered keeps no other from a store that answers", async () => {
  const { clock, advance } = handClock();
  const kv = await Deno.openKv(":memory:");
  const store = createDenoKeyValue(faultyKv(kv, (n) => n === 1 ? "hanging" : null), {
    clock,
    random,
  });
  const lost = assertRejects(() => store.get(["a"]), StoreError);
  await drainEvents();
  advance(3_000);
  await lost;
  for (let n = 0; n < 3; n++) {
    advance(10_000);
    assertEquals(await claimOnce(store, [...key, n], 1_000), true);
  }
  await store.close();
});

for (const outage of outages) {
  Deno.test(`closing a store leaves no record of claims refused in an outage (${outage})`, async () => {
    await inOutages(async (world) => {
      const { network, store, other } = world;
      network.goDown(outage);
      await refused(() => claimOnce(store, key, 600_000), world);
      await store.close();
      await assertRejects(() => store.get(key), StoreError);
      assertEquals(network.isClosed(), false, "what is still on its way has to be removed");
      await network.comeBack();
      assertEquals(network.isClosed(), true);
      assertEquals(await other.list({ prefix: [], limit: 10 }), []);
      assertEquals(await claimOnce(other, key, 600_000), true);
    });
  });
}
