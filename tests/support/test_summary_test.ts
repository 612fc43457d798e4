import { assertEquals } from "@std/assert";
import { sumOf, testOutputReader, unnamedReason } from "./test_summary.ts";

function read(output: string) {
  const reader = testOutputReader();
  output.split("\n").forEach((line) => reader.read(line));
  return reader.summary();
}

Deno.test("a summary counts tests, not steps, and skips by their reason", () => {
  assertEquals(
    read([
      "running 4 tests from ./tests/a_test.ts",
      "a ... ok (4ms)",
      "b [skipped: no Postgres] ... ignored (0ms)",
      "c [skipped: no Postgres] ... ignored (0ms)",
      "d ... ignored (0ms)",
      "  step [skipped: elsewhere] ... ignored (0ms)",
      "",
      "ok | 1 passed (3 steps) | 0 failed | 3 ignored (1 step) (12ms)",
    ].join("\n")),
    {
      passed: 1,
      failed: 0,
      skipped: 3,
      skipReasons: new Map([["no Postgres", 2], [unnamedReason, 1]]),
      errors: [],
    },
  );
});

Deno.test("a summary has the errors of a failed run", () => {
  const output = [
    "bad ... FAILED (1ms)",
    "",
    " ERRORS ",
    "bad => ./a_test.ts:1:6",
    "error: Error: x",
    " FAILURES ",
    "bad => ./a_test.ts:1:6",
    "FAILED | 7 passed | 2 failed (1 step) (1s)",
  ];
  assertEquals(read(output.join("\n")), {
    passed: 7,
    failed: 2,
    skipped: 0,
    skipReasons: new Map(),
    errors: ["bad => ./a_test.ts:1:6", "error: Error: x"],
  });
});

Deno.test("a run that ends before its closing line has no summary", () => {
  assertEquals(read("error: Type checking failed."), null);
});

Deno.test("runs side by side are summed, and one without a summary is a failure", () => {
  const run = (failed: number, reasons: readonly (readonly [string, number])[]) => ({
    passed: 2,
    failed,
    skipped: 3,
    skipReasons: new Map(reasons),
    errors: [`${failed} failed`],
  });
  const runs = [run(0, [["a", 1], ["b", 2]]), null, run(4, [["b", 3]])];
  assertEquals(sumOf(runs), {
    passed: 4,
    failed: 5,
    skipped: 6,
    skipReasons: new Map([["a", 1], ["b", 5]]),
    errors: ["0 failed", "4 failed"],
  });
  const nothing = { passed: 0, failed: 0, skipped: 0, skipReasons: new Map(), errors: [] };
  assertEquals(sumOf([]), nothing);
});
