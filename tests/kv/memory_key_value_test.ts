import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import { namePart } from "../../src/kv/key_encoding.ts";
import { createMemoryKeyValue } from "../../src/kv/memory_key_value.ts";
import { StoreError } from "../../src/kv/store_error.ts";
import { systemRuntime } from "../../src/runtime/system_runtime.ts";

Deno.test("a store in memory that is full refuses more, and accepts it again once records expire", async () => {
  let nowMs = 0;
  const clock = { ...systemRuntime(() => {}).clock, now: () => nowMs };
  const store = createMemoryKeyValue(clock, 10_000);
  const put = (name: string, expireInMs: number) =>
    store.commit({
      mutations: [{ kind: "set", key: [name], value: "x".repeat(3_000), expireInMs }],
    });
  await put("a", 1_000);
  await put("b", 1_000);
  await put("b", 5_000);
  await put("c", 1_000);
  await assertRejects(() => put("d", 1_000), StoreError);
  assertEquals((await store.get(["b"])).value, "x".repeat(3_000));
  nowMs = 1_001;
  await put("e", 1_000);
  await store.commit({ mutations: [{ kind: "delete", key: ["b"] }] });
  await put("f", 1_000);
  await store.close();
});

Deno.test("a full store looks for room once a second, not for every refused request", async () => {
  let [nowMs, looks] = [0, 0];
  const clock = {
    ...systemRuntime(() => {}).clock,
    now() {
      looks++;
      return nowMs;
    },
  };
  const store = createMemoryKeyValue(clock, 100_000);
  const put = (name: string) =>
    store.commit({ mutations: [{ kind: "set", key: [name], value: 0, expireInMs: 5_000 }] });
  let kept = 0;
  await assertRejects(async () => {
    for (;; kept++) await put(`${kept}`);
  }, StoreError);
  looks = 0;
  for (let n = 0; n < 100; n++) await assertRejects(() => put(`more ${n}`), StoreError);
  assert(looks < 3 * 100, `${kept} records were looked at for each of 100: ${looks} looks`);
  nowMs = 5_000;
  await put("later");
  await store.close();
});

Deno.test("records of shares make room for each other, the oldest of the largest first, and for reserved records", async () => {
  const store = createMemoryKeyValue(systemRuntime(() => {}).clock, 10_000);
  const put = (name: string, options: { share?: string; isReserved?: boolean } = {}) =>
    store.commit({
      mutations: [{ kind: "set", key: [name], value: "x".repeat(1_000), ...options }],
    });
  const held = async (...names: string[]) =>
    (await store.getMany(names.map((name) => [name]))).filter(({ value }) => value !== undefined)
      .map(({ key: [name] }) => name);
  await put("a", { share: "ada" });
  for (const name of ["e", "f", "g", "h"]) await put(name, { share: "eve" });
  assertEquals(await held("a", "e", "f", "g", "h"), ["a", "f", "g", "h"], "half of the store");
  for (let n = 0; n < 4; n++) await put(`${n}`);
  await assertRejects(() => put("4"), StoreError);
  assertEquals(await held("a", "f", "g", "h"), ["a", "f", "g", "h"], "kept for their share");
  await put("claim", { isReserved: true });
  assertEquals(
    await held("a", "f", "g", "h"),
    ["a", "f", "g", "h"],
    "there is further room for claims",
  );
  await put("another", { isReserved: true });
  assertEquals(await held("a", "f", "g", "h", "claim", "another"), [
    ...["a", "g", "h", "claim", "another"],
  ]);
  await store.close();
});

Deno.test("no two long names have the same part of a key", () => {
  const name = "n".repeat(64);
  assertEquals(namePart(`${name}\ufffd`, 64), namePart(`${name}\ufffd`, 64));
  for (const half of ["\ud800", "\udc00"]) {
    assertThrows(() => namePart(name + half, 64), Error, "half a surrogate pair");
  }
});
