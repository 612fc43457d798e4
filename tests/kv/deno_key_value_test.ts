import { assert, assertEquals, assertRejects } from "@std/assert";
import { createDenoKeyValue } from "../../src/kv/deno_key_value.ts";
import { HotKeys } from "../../src/kv/hot_keys.ts";
import type { KeyValue } from "../../src/kv/key_value.ts";
import { StoreError, storeProblem } from "../../src/kv/store_error.ts";
import { runAfterPendingIo } from "../../src/runtime/runtime.ts";
import { systemRuntime } from "../../src/runtime/system_runtime.ts";
import { Problem } from "../../src/problem/problem.ts";
import { claim, set } from "../conformance/key_value.ts";
import { handClock } from "../db/hand_clock.ts";
import { faultyKv, type KvFault } from "../support/faulty_kv.ts";

const runtime = systemRuntime(() => {});

/** A store in which the operations that `isFaulty` names meet one fault. */
async function withFault(
  fault: KvFault,
  isFaulty: (n: number) => boolean,
  work: (store: KeyValue, advance: (ms: number) => Promise<void>) => Promise<void>,
): Promise<void> {
  const { clock, advance } = handClock();
  const kv = await Deno.openKv(":memory:");
  const store = createDenoKeyValue(
    faultyKv(kv, (n) => isFaulty(n) ? fault : null),
    { clock, random: runtime.random },
  );
  try {
    await work(store, async (ms) => {
      // The synchronous part of the operation runs before time moves.
      await new Promise<void>(runAfterPendingIo);
      advance(ms);
    });
  } finally {
    await store.close();
  }
}

async function kindOf(work: Promise<unknown>): Promise<string> {
  return (await assertRejects(() => work, StoreError)).kind;
}

const first = (n: number) => n === 1;
const always = () => true;

Deno.test("a claim whose acknowledgement was lost is a success, and stays one use", async () => {
  await withFault("lost acknowledgement", first, async (store) => {
    const result = await claim(store, ["used", "x"], true, 1_000);
    assert(result.ok);
    assertEquals((await store.get(["used", "x"])).versionstamp, result.versionstamp);
    assertEquals(await claim(store, ["used", "x"], true, 1_000), { ok: false });
  });
});

Deno.test("a claim that threw after it was done is a success", async () => {
  await withFault("thrown after", first, async (store) => {
    assertEquals((await claim(store, ["used", "x"], true)).ok, true);
  });
});

Deno.test("a claim whose answer does not come is looked for", async () => {
  await withFault("silent", first, async (store, advance) => {
    const claiming = claim(store, ["used", "x"], true);
    while ((await store.get(["used", "x"])).value === undefined);
    await advance(3_000);
    assertEquals((await claiming).ok, true);
  });
});

Deno.test("a write without a claim that threw may have been done, and says so", async () => {
  for (const [fault, value] of [["thrown after", 1], ["thrown before", undefined]] as const) {
    await withFault(fault, first, async (store) => {
      assertEquals(await kindOf(set(store, ["a"], 1)), "unknown-outcome");
      assertEquals((await store.get(["a"])).value, value);
    });
  }
});

Deno.test("a read that threw is unavailable", async () => {
  await withFault("thrown before", always, async (store) => {
    assertEquals(await kindOf(store.get(["a"])), "unavailable");
    assertEquals(await kindOf(store.getMany([["a"]])), "unavailable");
    assertEquals(await kindOf(store.list({ prefix: ["a"], limit: 1 })), "unavailable");
  });
});

Deno.test("no call waits longer than the deadline for a store that hangs", async () => {
  await withFault("hanging", always, async (store, advance) => {
    const reads = [
      kindOf(store.get(["a"])),
      kindOf(store.getMany([["a"], ["b"]])),
      kindOf(store.list({ prefix: ["a"], limit: 1 })),
    ];
    const write = kindOf(set(store, ["a"], 1));
    const claimed = kindOf(claim(store, ["a"], 1));
    await advance(3_000);
    assertEquals(await Promise.all(reads), Array(3).fill("unavailable"));
    assertEquals(await write, "unknown-outcome");
    await advance(500);
    assertEquals(await claimed, "unknown-outcome");
  });
});

Deno.test("a lock that is never released is unavailable once the time is over", async () => {
  const kv = await Deno.openKv(":memory:");
  const options = { ...runtime, deadlineMs: 30 };
  const store = createDenoKeyValue(faultyKv(kv, () => "locked"), options);
  assertEquals(await kindOf(set(store, ["a"], 1)), "unavailable");
  assertEquals(await kindOf(claim(store, ["a"], 1)), "unavailable");
  assertEquals(await kindOf(store.get(["a"])), "unavailable");
  assertEquals((await kv.get(["a"])).value, null);
  await store.close();
});

Deno.test("a store that fails is a 503 with Retry-After", () => {
  for (const kind of ["unavailable", "unknown-outcome"] as const) {
    const problem = storeProblem(new StoreError(kind, new Error("disk")));
    assert(problem instanceof Problem);
    assertEquals([problem.status, problem.slug], [503, "store-unavailable"]);
    assertEquals(problem.headers, { "retry-after": "1" });
    assert(!problem.message.includes("disk"));
  }
  const other = new Error("ours");
  assertEquals(storeProblem(other), other);
});

Deno.test("a record that another program wrote is refused", async () => {
  const kv = await Deno.openKv(":memory:");
  await kv.set(["a"], "foreign");
  const store = createDenoKeyValue(kv, runtime);
  const error = await assertRejects(() => store.get(["a"]), Error, "another program");
  assertEquals(error.constructor, Error);
  await store.close();
});

/** Every fault at every operation: acknowledged writes are stored, refused ones are not. */
for (
  const [fault, isExact] of [
    ["locked", true],
    ["lost acknowledgement", true],
    ["thrown after", true],
    ["thrown before", false],
  ] as const
) {
  Deno.test(`counts stay right, whichever operation is ${fault}`, async () => {
    for (let place = 1; place <= 8; place++) {
      const kv = await Deno.openKv(":memory:");
      const store = createDenoKeyValue(
        faultyKv(kv, (n) => n % 8 === place % 8 ? fault : null),
        runtime,
      );
      const hot = new HotKeys(store, runtime);
      let [done, unknown] = [0, 0];
      for (let round = 0; round < 5; round++) {
        const outcomes = await Promise.allSettled(
          Array.from({ length: 5 }, (_, n) =>
            hot.update(["count", n % 2], (value) => {
              const next = Number(value ?? 0) + 1;
              return { result: next, record: { value: next } };
            })),
        );
        for (const outcome of outcomes) {
          if (outcome.status === "fulfilled") done++;
          // A read that failed did nothing.
          else if (outcome.reason.kind === "unknown-outcome") unknown++;
        }
      }
      const clean = createDenoKeyValue(kv, runtime);
      const counts = await clean.getMany([["count", 0], ["count", 1]]);
      const sum = counts.reduce((sum, { value }) => sum + Number(value ?? 0), 0);
      assert(done <= sum && sum <= done + unknown, `${done} ≤ ${sum} ≤ ${done} + ${unknown}`);
      if (isExact) assertEquals([sum, unknown], [done, 0], `place ${place}`);
      await store.close();
    }
  });
}
