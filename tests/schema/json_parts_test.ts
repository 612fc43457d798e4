import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { writeJson } from "../../src/schema/exact_json.ts";
import { jsonParts } from "../../src/schema/json_parts.ts";

const parts = (value: unknown) => [...jsonParts(value)];

Deno.test("the parts of a value are together its JSON", () => {
  const anything = fc.anything({
    withBigInt: true,
    withDate: true,
    withNullPrototype: true,
    withSparseArray: true,
    maxDepth: 10,
  }).filter((value) => writeJson(value) !== undefined);
  fc.assert(
    fc.property(anything, (value) => assertEquals(parts(value).join(""), writeJson(value))),
    { numRuns: 2_000 },
  );
});

Deno.test("what JSON has no form of is left out of the parts as well", () => {
  const nothing = { toJSON: () => undefined };
  for (
    const value of [
      [[], undefined, () => 1, Symbol("s"), nothing],
      { a: {}, b: undefined, c: () => 1, d: Symbol("s"), e: nothing },
      { only: nothing },
      { when: new Date(0), rows: [{ at: new Date(1), n: 1n }] },
    ]
  ) {
    assertEquals(parts(value).join(""), writeJson(value));
  }
});

Deno.test("rows are parts, whatever they lie in, and their fields are none", () => {
  const row = { id: 1, body: "x".repeat(100) };
  const text = writeJson(row);
  const page = { items: Array.from({ length: 20 }, () => ({ ...row, posts: [row, row] })) };
  assert(parts(page).every((part) => part.length < text.length + 20));
  assertEquals(parts(page).filter((part) => part.endsWith(text)).length, 40);
});
