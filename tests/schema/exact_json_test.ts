import { assertEquals } from "@std/assert";
import { parseJson, writeJson } from "../../src/schema/exact_json.ts";

Deno.test("integers beyond 2^53 keep their digits both ways", () => {
  const text = '{"a":9007199254740993,"b":[-12345678901234567890,1],"c":"9007199254740993"}';
  const value = { a: 9007199254740993n, b: [-12345678901234567890n, 1], c: "9007199254740993" };
  assertEquals(parseJson(text), value);
  assertEquals(writeJson(value), text);
});

Deno.test("long fractions stay numbers", () => {
  assertEquals(parseJson("[0.1234567890123456789,1e17]"), [0.12345678901234568, 1e17]);
});

Deno.test("text that is no JSON is undefined, and null is null", () => {
  assertEquals(parseJson("{"), undefined);
  assertEquals(parseJson(""), undefined);
  assertEquals(parseJson("null"), null);
});

Deno.test("a member called __proto__ is data", () => {
  const text = '{"__proto__":{"a":1}}';
  assertEquals(writeJson(parseJson(text)), text);
});

Deno.test("deep JSON with a long number overflowed the stack", () => {
  for (const number of ["1", "12345678901234567890"]) {
    const nested = (levels: number) => "[".repeat(levels) + number + "]".repeat(levels);
    assertEquals(parseJson(nested(513)), undefined);
    assertEquals(parseJson(nested(200_000)), undefined);
    assertEquals(parseJson(`{"a":`.repeat(200_000) + number + "}".repeat(200_000)), undefined);
    assertEquals(writeJson(parseJson(nested(512))), nested(512));
  }
});

Deno.test("brackets side by side, or in a string, are not deep", () => {
  const wide = `[${"[],{},".repeat(1000)}1]`;
  assertEquals(writeJson(parseJson(wide)), wide);
  const written = JSON.stringify({ a: "[".repeat(2000), '\\"[': `\\"${"{".repeat(2000)}\\\\` });
  assertEquals(writeJson(parseJson(written)), written);
  assertEquals(parseJson(`"${"[".repeat(2000)}`), undefined);
});
