import { assertEquals, assertRejects } from "@std/assert";
import { solve } from "../../src/client/pow/solve.ts";
import { createDenoKeyValue } from "../../src/kv/deno_key_value.ts";
import { createMemoryKeyValue } from "../../src/kv/memory_key_value.ts";
import { StoreError } from "../../src/kv/store_error.ts";
import { systemRuntime } from "../../src/runtime/system_runtime.ts";
import { startChild } from "../serve/child_process.ts";
import { faultyKv, type KvFault } from "../support/faulty_kv.ts";
import { scratchFolder } from "../support/scratch.ts";
import { difficulty, facts, powBench } from "./pow_support.ts";

const runtime = systemRuntime(() => {});

Deno.test("a store that does not answer refuses the solution, and it is good for a later try", async () => {
  const store = createMemoryKeyValue(runtime.clock);
  let isDown = true;
  const bench = powBench({
    store: {
      ...store,
      commit: (commit) =>
        isDown ? Promise.reject(new StoreError("unavailable", null)) : store.commit(commit),
    },
  });
  const headers = await bench.solved();
  const error = await assertRejects(
    () => bench.requireSolution(headers, facts, difficulty),
    StoreError,
  );
  assertEquals(error.kind, "unavailable");
  isDown = false;
  assertEquals(await bench.verifySolution(headers, facts, difficulty), null);
  assertEquals(await bench.verifySolution(headers, facts, difficulty), "replayed");
});

Deno.test("replays are refused without the store, once a use is known", async () => {
  const store = createMemoryKeyValue(runtime.clock);
  let commits = 0;
  const bench = powBench({
    store: {
      ...store,
      commit: (commit) => {
        commits++;
        return store.commit(commit);
      },
    },
  });
  const headers = await bench.solved();
  for (let i = 0; i < 50; i++) await bench.verifySolution(headers, facts, difficulty);
  assertEquals(commits, 1);
});

Deno.test("a refused solution never reaches the store", async () => {
  const store = createMemoryKeyValue(runtime.clock);
  const bench = powBench({
    store: { ...store, commit: () => Promise.reject(new Error("the store was called")) },
  });
  const headers = await bench.solved();
  for (const other of [{ ...facts, path: "/" }, { ...facts, userId: null }]) {
    assertEquals(await bench.verifySolution(headers, other, difficulty), "other-request");
  }
});

for (const fault of ["lost acknowledgement", "locked"] satisfies KvFault[]) {
  Deno.test(`a use whose commit ends with "${fault}" is still one use`, async () => {
    await using folder = await scratchFolder();
    const kv = await Deno.openKv(`${folder.path}/a.kv`);
    const store = createDenoKeyValue(faultyKv(kv, (n) => n === 1 ? fault : null), runtime);
    const headers = await powBench({ store }).solved();
    // Two instances of the service: neither knows the solutions of the other.
    const first = powBench({ store });
    const second = powBench({ store });
    assertEquals(await first.verifySolution(headers, facts, difficulty), null);
    assertEquals(await second.verifySolution(headers, facts, difficulty), "replayed");
    await store.close();
  });
}

Deno.test("a solution sent 100 times at once to two processes is served once", async () => {
  await using folder = await scratchFolder();
  const path = `${folder.path}/a.kv`;
  const script = new URL("pow_process.ts", import.meta.url).pathname;
  const bench = powBench();
  bench.now = Date.now();
  // Several rounds, so that the processes collide at the file.
  const solutions = await Promise.all(
    Array.from({ length: 20 }, async () => {
      const token = bench.token();
      return [token, await solve({ token, difficulty })];
    }),
  );
  await Deno.writeTextFile(`${folder.path}/solutions.json`, JSON.stringify(solutions));
  const children = [1, 2].map(() => startChild([script, path, `${folder.path}/solutions.json`]));
  try {
    const ends = await Promise.all(children.map((child) => child.printed(/done (.*)\n/)));
    const served = ends.map(([, counts = ""]): number[] => JSON.parse(counts));
    assertEquals(
      solutions.map((_, i) => (served[0]?.[i] ?? NaN) + (served[1]?.[i] ?? NaN)),
      solutions.map(() => 1),
    );
  } finally {
    for (const child of children) await child[Symbol.asyncDispose]();
  }
});
