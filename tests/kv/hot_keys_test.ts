import { assert, assertEquals, assertRejects } from "@std/assert";
import { createDenoKeyValue } from "../../src/kv/deno_key_value.ts";
import { HotKeys } from "../../src/kv/hot_keys.ts";
import type { KeyChange } from "../../src/kv/key_change.ts";
import type { KeyValue } from "../../src/kv/key_value.ts";
import { createMemoryKeyValue } from "../../src/kv/memory_key_value.ts";
import { StoreError } from "../../src/kv/store_error.ts";
import { runAfterPendingIo } from "../../src/runtime/runtime.ts";
import { systemRuntime } from "../../src/runtime/system_runtime.ts";
import { set } from "../conformance/key_value.ts";
import { handClock } from "../db/hand_clock.ts";
import { startChild } from "../serve/child_process.ts";
import { gate, scratchFolder } from "../support/scratch.ts";

const runtime = systemRuntime(() => {});

function increment(value: unknown): KeyChange<number> {
  const next = Number(value ?? 0) + 1;
  return { result: next, record: { value: next } };
}

/** A store in memory that logs its calls. */
function loggedStore(
  change: Partial<KeyValue> = {},
): { store: KeyValue; log: readonly string[] } {
  const log: string[] = [];
  const memory = createMemoryKeyValue(runtime.clock);
  const inner = { ...memory, ...change };
  const store: KeyValue = {
    ...inner,
    getMany(keys) {
      log.push(`read ${keys.length}`);
      return inner.getMany(keys);
    },
    commit(commit) {
      log.push(`commit ${commit.mutations.length}`);
      return inner.commit(commit);
    },
  };
  return { store, log };
}

Deno.test("64 changes of one key share one read and one commit, in their order", async () => {
  const { store, log } = loggedStore();
  const hot = new HotKeys(store, runtime);
  const results = await Promise.all(
    Array.from({ length: 64 }, () => hot.update(["a"], increment)),
  );
  assertEquals(results, Array.from({ length: 64 }, (_, n) => n + 1));
  assertEquals(log, ["read 1", "commit 1"]);
  assertEquals((await store.get(["a"])).value, 64);
});

Deno.test("keys share commits, ten by ten", async () => {
  const { store, log } = loggedStore();
  const hot = new HotKeys(store, runtime);
  await Promise.all(Array.from({ length: 60 }, (_, n) => hot.update(["k", n % 30], increment)));
  assertEquals(log.filter((line) => line.startsWith("commit")), Array(3).fill("commit 10"));
  const counts = await store.list({ prefix: ["k"], limit: 100 });
  assertEquals(counts.map(({ value }) => value), Array(30).fill(2));
});

Deno.test("no change resolves before it is stored", async () => {
  const [asked, release] = [gate(), gate()];
  const memory = createMemoryKeyValue(runtime.clock);
  const { store } = loggedStore({
    async commit(commit) {
      asked.open();
      await release.passed;
      return await memory.commit(commit);
    },
  });
  let heard = false;
  const update = new HotKeys(store, runtime).update(["a"], increment).then(() => heard = true);
  await asked.passed;
  assertEquals(heard, false);
  release.open();
  await update;
  assertEquals((await memory.get(["a"])).value, 1);
});

Deno.test("a change that throws fails alone, and stores nothing", async () => {
  const { store } = loggedStore();
  const hot = new HotKeys(store, runtime);
  const refusal = new Error("no");
  const outcomes = await Promise.allSettled([
    hot.update(["a"], increment),
    hot.update(["a"], () => {
      throw refusal;
    }),
    hot.update(["a"], increment),
  ]);
  assertEquals(outcomes, [
    { status: "fulfilled", value: 1 },
    { status: "rejected", reason: refusal },
    { status: "fulfilled", value: 2 },
  ]);
});

Deno.test("a change without a record writes nothing, and null removes", async () => {
  const { store, log } = loggedStore();
  await set(store, ["a"], 7);
  const hot = new HotKeys(store, runtime);
  assertEquals(await hot.update(["a"], (value) => ({ result: value })), 7);
  assertEquals(log, ["commit 1", "read 1"]);
  const seen = await Promise.all([
    hot.update(["a"], (value) => ({ result: value, record: null })),
    hot.update(["a"], (value) => ({ result: value })),
  ]);
  assertEquals(seen, [7, undefined]);
  assertEquals((await store.get(["a"])).value, undefined);
});

Deno.test("a record that expired is changed as if it were missing", async () => {
  const { clock, advance } = handClock();
  for (const kv of [null, await Deno.openKv(":memory:")]) {
    const options = { clock: { ...runtime.clock, now: clock.now }, random: runtime.random };
    const store = kv === null ? createMemoryKeyValue(clock) : createDenoKeyValue(kv, options);
    const hot = new HotKeys(store, options);
    const expiring = (value: unknown) => ({
      result: value,
      record: { value: 1, expireInMs: 10 },
    });
    assertEquals(await hot.update(["a"], expiring), undefined);
    assertEquals(await hot.update(["a"], expiring), 1);
    advance(10);
    assertEquals(await hot.update(["a"], expiring), undefined);
    await store.close();
  }
});

Deno.test("a value that no store accepts fails its own key only", async () => {
  const { store } = loggedStore();
  const hot = new HotKeys(store, runtime);
  const updates = Array.from({ length: 10 }, (_, n) =>
    hot.update(["k", n], () => ({
      result: n,
      record: { value: n === 3 ? new Uint8Array(70_000) : n },
    })));
  const outcomes = await Promise.allSettled(updates);
  assertEquals(outcomes.map(({ status }) => status).indexOf("rejected"), 3);
  assertEquals((await store.list({ prefix: ["k"], limit: 100 })).length, 9);
});

Deno.test("a change that others always precede is refused after the deadline", async () => {
  const { store, log } = loggedStore({ commit: () => Promise.resolve({ ok: false }) });
  const hot = new HotKeys(store, { ...runtime, deadlineMs: 30 });
  const error = await assertRejects(() => hot.update(["a"], increment), StoreError);
  assertEquals(error.kind, "unavailable");
  assert(log.length > 4, "it tried more than once");
});

Deno.test("a change that waits for a store that fails is refused with the first", async () => {
  const failing = Promise.withResolvers<never>();
  const asked = gate();
  const { store, log } = loggedStore({
    getMany() {
      asked.open();
      return failing.promise;
    },
  });
  const hot = new HotKeys(store, runtime);
  const one = assertRejects(() => hot.update(["a"], increment), StoreError);
  await asked.passed;
  const other = assertRejects(() => hot.update(["a"], increment), StoreError);
  failing.reject(new StoreError("unavailable", new Error("gone")));
  await Promise.all([one, other]);
  assertEquals(log, ["read 1"]);
});

Deno.test("keys do not wait for a batch that hangs", async () => {
  const memory = createMemoryKeyValue(runtime.clock);
  const { store } = loggedStore({
    getMany: (keys) =>
      keys.some(([key]) => key === "stuck") ? new Promise(() => {}) : memory.getMany(keys),
  });
  const { clock, advance } = handClock();
  const hot = new HotKeys(store, { clock, random: runtime.random });
  hot.update(["stuck"], increment);
  await new Promise<void>(runAfterPendingIo);
  const free = hot.update(["free"], increment);
  await new Promise<void>(runAfterPendingIo);
  advance(5);
  assertEquals(await free, 1);
});

Deno.test("changes read and write records beside their key in its commit, in their order", async () => {
  const { store, log } = loggedStore();
  const hot = new HotKeys(store, runtime);
  const once = (name: string) =>
    hot.update(["a"], (value, [known]) => {
      if (known !== undefined) return { result: known };
      const next = Number(value ?? 0) + 1;
      const relatedMutations = [
        { kind: "set", key: ["a", "entry", next], value: name },
        { kind: "set", key: ["a", "known", name], value: next },
      ] as const;
      return { result: next, record: { value: next }, relatedMutations };
    }, [["a", "known", name]]);
  assertEquals(await Promise.all(["x", "y", "x", "z", "y"].map(once)), [1, 2, 1, 3, 2]);
  assertEquals(await once("x"), 1);
  assertEquals(log, ["read 4", "commit 7", "read 2"]);
  const entries = await store.list({ prefix: ["a", "entry"], limit: 10 });
  assertEquals(entries.map(({ value }) => value), ["x", "y", "z"]);
});

Deno.test("records beside a key are read after it where they are many", async () => {
  const { store, log } = loggedStore();
  const hot = new HotKeys(store, { ...runtime, maxChanges: 20 });
  const results = await Promise.all(
    Array.from({ length: 50 }, (_, n) =>
      hot.update(["a"], (value) => {
        const next = Number(value ?? 0) + 1;
        return { result: next, record: { value: next } };
      }, [["a", n]])),
  );
  assertEquals(results, Array.from({ length: 50 }, (_, n) => n + 1));
  assertEquals(log, [
    ...["read 1", "read 20", "commit 1", "read 1", "read 20", "commit 1"],
    ...["read 1", "read 10", "commit 1"],
  ]);
});

Deno.test("two stores on one file count together", async () => {
  await using folder = await scratchFolder();
  const stores = await Promise.all(
    [1, 2].map(async () => createDenoKeyValue(await Deno.openKv(`${folder.path}/a.kv`), runtime)),
  );
  const updates = stores.flatMap((store) => {
    const hot = new HotKeys(store, runtime);
    return Array.from({ length: 200 }, (_, n) => hot.update(["k", n % 15], increment));
  });
  await Promise.all(updates);
  const [store] = stores;
  const counts = await store?.list({ prefix: ["k"], limit: 100 }) ?? [];
  assertEquals(counts.reduce((sum, { value }) => sum + Number(value), 0), 400);
  for (const store of stores) await store.close();
});

Deno.test("four processes on one file count together, and a claim has one winner", async () => {
  await using folder = await scratchFolder();
  const script = new URL("hot_keys_process.ts", import.meta.url).pathname;
  const path = `${folder.path}/a.kv`;
  const children = [1, 2, 3, 4].map(() => startChild([script, path, "4"]));
  try {
    const ends = await Promise.all(children.map((child) => child.printed(/done (\d+) (\d+)/)));
    const total = (group: number) => ends.reduce((sum, end) => sum + Number(end[group]), 0);
    const store = createDenoKeyValue(await Deno.openKv(path), runtime);
    const counts = await store.getMany([["hot"], ["warm", 0], ["warm", 1], ["warm", 2]]);
    const sum = counts.reduce((sum, { value }) => sum + Number(value), 0);
    await store.close();
    assert(total(1) > 400, `only ${total(1)} changes`);
    assertEquals(sum, total(1));
    assertEquals(total(2), 20);
  } finally {
    for (const child of children) await child[Symbol.asyncDispose]();
  }
});

Deno.test("a record beside a key that a later change of the same commit deletes was refused as its proof", async () => {
  const store = createMemoryKeyValue(runtime.clock);
  const hot = new HotKeys(store, runtime);
  const moveTo = (place: string, from: string | null) =>
    hot.update(["entry"], () => ({
      result: place,
      record: { value: place },
      relatedMutations: [
        { kind: "set", key: ["place", place], value: true },
        ...(from === null ? [] : [{ kind: "delete" as const, key: ["place", from] }]),
      ],
    }));
  assertEquals(await Promise.all([moveTo("a", null), moveTo("b", "a")]), ["a", "b"]);
  const places = await store.list({ prefix: ["place"], limit: 9 });
  assertEquals(places.map(({ key }) => key), [["place", "b"]]);
});
