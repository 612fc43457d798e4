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
