import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { parseJson, writeJson } from "../../src/schema/exact_json.ts";
import { replaceExactNumbers } from "../../src/schema/exact_number.ts";
import { jsonFits } from "../../src/schema/json_fits.ts";
import { jsonParts } from "../../src/schema/json_parts.ts";

Deno.test("integers beyond 2^53 keep their digits both ways", () => {
  const text = '{"a":9007199254740993,"b":[-12345678901234567890,1],"c":"9007199254740993"}';
  const value = { a: 9007199254740993n, b: [-12345678901234567890n, 1], c: "9007199254740993" };
  assertEquals(parseJson(text), value);
  assertEquals(writeJson(value), text);
});

Deno.test("numbers that a double has are numbers, however they are written", () => {
  const text = "[0.5,1.50,1e17,0.30000000000000004,1E-7,-0.1000000000000000000000,100.0e-1]";
  const values = [0.5, 1.5, 1e17, 0.1 + 0.2, 1e-7, -0.1, 10];
  assertEquals(parseJson(text), values);
});

Deno.test("numbers that no double has keep their digits both ways", () => {
  const numbers = ["0.1234567890123456789", "1e400", "-1.5E+999", "1e-400", "0.10000000000000001"];
  for (const number of [...numbers, "123456789.123456789", "12345678901234567890.5"]) {
    for (const text of [number, `{"a":[${number}]}`, `[1,${number},"${number}"]`]) {
      assertEquals(writeJson(parseJson(text)), text);
      assertEquals([...jsonParts(parseJson(text))].join(""), text);
    }
    const { length } = number;
    assertEquals([length, length - 1].map((size) => jsonFits(parseJson(number), size)), [
      true,
      false,
    ]);
    const within = parseJson(`{"a":[${number}],"b":${number},"__proto__":${number}}`);
    const doubles = JSON.stringify(replaceExactNumbers(within));
    assertEquals(
      doubles,
      JSON.stringify(JSON.parse(`{"a":[${number}],"b":${number},"__proto__":${number}}`)),
    );
  }
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

Deno.test("one long integer had a function called for each value of the text", () => {
  const parse = JSON.parse;
  let calls = 0;
  JSON.parse = (text, reviver) =>
    parse(
      text,
      reviver && ((...args: [string, unknown]) => {
        calls++;
        return Reflect.apply(reviver, null, args);
      }),
    );
  try {
    assertEquals(parseJson(`[${"1,".repeat(50_000)}12345678901234567890]`) instanceof Array, true);
  } finally {
    JSON.parse = parse;
  }
  assert(calls < 10, `${calls} calls`);
});

Deno.test("JSON with long integers is read as JSON.parse reads all the rest of it", () => {
  const names = fc.oneof(
    fc.string({ unit: "binary" }),
    fc.constantFrom("__proto__", "1", "0", '"', "\\", "]", "}"),
  );
  const { value: values } = fc.letrec<{ value: unknown }>((tie) => ({
    value: fc.oneof(
      { depthSize: "small" },
      names,
      fc.double({ noNaN: true, noDefaultInfinity: true }),
      fc.bigInt({ min: -(2n ** 80n), max: 2n ** 80n }),
      fc.constantFrom(null, true, false, [], {}),
      fc.array(tie("value"), { maxLength: 5 }),
      fc.array(fc.tuple(names, tie("value")), { maxLength: 5 })
        .map((members) => Object.fromEntries(members)),
    ),
  }));
  fc.assert(fc.property(values, fc.constantFrom("", " ", "\n\t "), (value, space) => {
    const long = 2n ** 70n;
    const text = `${space}[${space}${writeJson(value)}${space},${space}${long}${space}]${space}`;
    assertEquals(parseJson(text), [read(value), long]);
  }));
});

/** A value as it is read after it was written: integers are bigints where they are long. */
function read(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(read);
  if (typeof value === "object" && value !== null) {
    return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, read(member)]));
  }
  if (typeof value !== "number" && typeof value !== "bigint") return value;
  const isLong = !Number.isSafeInteger(Number(value)) && /^-?\d+$/.test(String(value));
  return isLong ? BigInt(String(value)) : Number(value);
}

Deno.test("a name of one escaped character was read as a backslash", () => {
  for (const name of ["\n", '"', "\\", "\t"]) {
    for (const document of [{ a: {}, [name]: 1 }, [{ b: {}, [name]: "" }, { b: {}, [name]: "" }]]) {
      const text = JSON.stringify(document, null, 1);
      for (let times = 0; times < 3; times++) assertEquals(parseJson(text), document);
    }
  }
});

Deno.test("what lies below many levels counted as nothing", () => {
  for (const levels of [99, 100, 101, 400]) {
    let value: unknown = "x".repeat(1_000);
    for (let level = 0; level < levels; level++) value = level % 2 === 0 ? [value] : { a: value };
    // Each level counts up to one character too many, for a comma.
    const sizes = [writeJson(value).length + levels, 900];
    assertEquals(sizes.map((size) => jsonFits(value, size)), [true, false], `${levels}`);
  }
});
