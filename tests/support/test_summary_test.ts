import { assertEquals } from "@std/assert";
import { testOutputReader, unnamedReason } from "./test_summary.ts";

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
    },
  );
});

Deno.test("a summary reads a failed run", () => {
  assertEquals(read("FAILED | 7 passed | 2 failed (1 step) (1s)"), {
    passed: 7,
    failed: 2,
    skipped: 0,
    skipReasons: new Map(),
  });
});

Deno.test("a run that ends before its closing line has no summary", () => {
  assertEquals(read("error: Type checking failed."), null);
});
