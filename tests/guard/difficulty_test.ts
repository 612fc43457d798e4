import { assertEquals, assertRejects } from "@std/assert";
import { solve } from "../../src/client/pow/solve.ts";
import {
  callTrustHook,
  difficultyOverBudget,
  maxDifficulty,
  type Trust,
} from "../../src/guard/pow/difficulty.ts";
import type { Observation } from "../../src/runtime/runtime.ts";
import { systemRuntime } from "../../src/runtime/system_runtime.ts";

const table: readonly (readonly [gives: unknown, difficulty: number, isObserved: boolean])[] = [
  [0, 0, false],
  [1, 1, false],
  [18.2, 19, false],
  [32, 32, false],
  [33, 32, false],
  [1e9, 32, false],
  [-1, 20, true],
  [-0.001, 20, true],
  [NaN, 20, true],
  [Infinity, 20, true],
  [-Infinity, 20, true],
  ["0", 20, true],
  [undefined, 20, true],
  [null, 20, true],
  [Promise.resolve(3), 3, false],
];

for (const [gives, difficulty, isObserved] of table) {
  Deno.test(`a trust hook that gives ${Deno.inspect(gives)} means ${difficulty}`, async () => {
    // Hooks in JavaScript may return anything.
    assertEquals(await difficultyBy((() => gives) as Trust), [difficulty, isObserved]);
  });
}

Deno.test("a trust hook that throws or rejects leaves the base as it is", async () => {
  const fails = () => {
    throw new Error("no database");
  };
  assertEquals(await difficultyBy(fails), [20, true]);
  assertEquals(await difficultyBy(() => Promise.reject(new Error("no database"))), [20, true]);
});

Deno.test("without a trust hook the base applies", async () => {
  assertEquals(await difficultyBy(undefined), [20, false]);
});

Deno.test("what the budget lacks costs a bit, and one more beyond each doubling, up to 32", () => {
  const steps = [[0, 20], [1, 21], [100, 21], [101, 22], [300, 22], [301, 23], [700, 23]] as const;
  for (const [deficit, difficulty] of steps) {
    assertEquals(difficultyOverBudget(20, deficit, 100), difficulty, `deficit ${deficit}`);
  }
  assertEquals(difficultyOverBudget(20, 1e12, 100), 32);
  assertEquals(difficultyOverBudget(20, Infinity, 100), 32);
  assertEquals(difficultyOverBudget(20, -5, 100), 20);
  assertEquals(difficultyOverBudget(20, 5, 0), 20);
});

Deno.test("whatever a budget lacks, no difficulty is demanded that the client's solver does not accept", async () => {
  assertEquals(difficultyOverBudget(maxDifficulty, 1e300, 1), maxDifficulty);
  const signal = AbortSignal.abort(new Error("taken, and given up"));
  const start = (difficulty: number) => solve({ token: "t", difficulty }, { signal });
  await assertRejects(() => start(maxDifficulty), Error, "given up");
  await assertRejects(() => start(maxDifficulty + 1), RangeError);
});

async function difficultyBy(trust: Trust | undefined): Promise<[number, boolean]> {
  const observations: Observation[] = [];
  const question = {
    user: null,
    request: new Request("http://test/"),
    reason: "endpoint",
    deficit: 0,
    base: 20,
  } as const;
  const runtime = systemRuntime((observation) => observations.push(observation));
  const difficulty = await callTrustHook(trust, question, runtime);
  return [difficulty, observations.some(({ kind }) => kind === "trust_failed")];
}
