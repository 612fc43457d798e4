import { assertEquals, assertThrows } from "@std/assert";
import { parseIdempotencyKey } from "../../src/idempotency/idempotency_key.ts";
import { Problem } from "../../src/problem/problem.ts";

Deno.test("a key is parsed bare or as a string in quotes, which is the same key", () => {
  const keys: readonly (readonly [header: string, key: string])[] = [
    ["8e03978e-40d5-43dd-bc93-6894a57f9324", "8e03978e-40d5-43dd-bc93-6894a57f9324"],
    ['"8e03978e-40d5-43dd-bc93-6894a57f9324"', "8e03978e-40d5-43dd-bc93-6894a57f9324"],
    ['"a \\"b\\" \\\\c"', 'a "b" \\c'],
    ["two words, ~", "two words, ~"],
    ['it"s', 'it"s'],
    ["x".repeat(255), "x".repeat(255)],
    [`"${"x".repeat(255)}"`, "x".repeat(255)],
  ];
  for (const [header, key] of keys) assertEquals(parseIdempotencyKey(header, false), key);
});

Deno.test("what is empty, too long, not ASCII or a broken string is no key", () => {
  const wrong = [
    "",
    '""',
    '"a',
    '"a"b"',
    '"a", "b"',
    '"a\\b"',
    '"a\\"',
    "é",
    "a\tb",
    "x".repeat(256),
    `"${"x".repeat(256)}"`,
  ];
  for (const header of wrong) {
    const problem = assertThrows(() => parseIdempotencyKey(header, false), Problem);
    assertEquals([problem.slug, problem.status], ["invalid-parameter", 400]);
  }
});

Deno.test("the key of an anonymous caller has 22 characters at least, which its quotes are not among", () => {
  const least = "x".repeat(22);
  for (const header of [least, `"${least}"`]) {
    assertEquals(parseIdempotencyKey(header, true), least);
  }
  for (const header of ["order-1", "x".repeat(21), `"${"x".repeat(21)}"`]) {
    const problem = assertThrows(() => parseIdempotencyKey(header, true), Problem, "22 characters");
    assertEquals([problem.slug, problem.status], ["invalid-parameter", 400]);
    assertEquals(typeof parseIdempotencyKey(header, false), "string");
  }
});
