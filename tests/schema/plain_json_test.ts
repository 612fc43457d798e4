import { assertEquals } from "@std/assert";
import fc from "fast-check";
import { exceededJsonLimit, parseShallowJson, writeJson } from "../../src/schema/exact_json.ts";
import { isPlainJson } from "../../src/schema/plain_json.ts";

const limits = { levels: 3, names: 4 };
const isPlain = (text: string) => isPlainJson(new TextEncoder().encode(text), limits);

Deno.test("what counts as plain is read exactly by JSON.parse, and is within the limits", () => {
  const digits = fc.stringMatching(/^-?(?:0|[1-9]\d{0,20})(?:\.\d{1,20})?(?:[eE][+-]?\d{1,4})?$/);
  const name = fc.constantFrom('"a"', '"\\n"', '"\\u0041"', '"é"', '"e1"', '"12345678901234567"');
  const value = fc.oneof(digits, name, fc.constantFrom("[]", "{}", "[[[1]]]", "null", "true"));
  const member = fc.tuple(name, value).map((parts) => parts.join(":"));
  const line = fc.array(member, { maxLength: 6 }).map((members) => `{${members.join()}}`);
  let plain = 0;
  fc.assert(
    fc.property(line, (text) => {
      if (!isPlain(text)) return;
      plain++;
      assertEquals(writeJson(parseShallowJson(text)), writeJson(JSON.parse(text)), text);
      assertEquals(exceededJsonLimit(text, { ...limits, digits: 15 }), null, text);
    }),
    { numRuns: 2_000 },
  );
  assertEquals(plain > 100, true, `${plain} of 2,000 were plain`);
});

Deno.test("most lines of rows count as plain, each by itself", () => {
  const row = '{"id":1,"on":"2026-01-01","size":1.5}\n';
  assertEquals(isPlain(row.repeat(100)), true);
  for (
    const text of ["[[[[1]]]]", '{"a":1,"b":1,"c":1,"d":1,"e":1}', "9007199254740993", "1e400"]
  ) {
    assertEquals(isPlain(`${row}${text}\n`), false, text);
  }
});
