import { assertEquals, assertRejects } from "@std/assert";
import { createMemoryKeyValue } from "../../src/runtime/memory_key_value.ts";
import { StoreError } from "../../src/runtime/store_error.ts";
import { systemRuntime } from "../../src/runtime/system_runtime.ts";

Deno.test("a store in memory that is full refuses more, and takes it again once records expire", async () => {
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
