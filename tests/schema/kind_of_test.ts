import { assertEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import { type ColumnKind, InvalidValue } from "../../src/schema/kind.ts";
import { parseJson } from "../../src/schema/exact_json.ts";
import { kinds } from "../../src/schema/kind_of.ts";
import type { ColumnInfo } from "../../src/schema/table_info.ts";
import { columnOf } from "./column_of.ts";

type Details = Partial<ColumnInfo>;
const money: Details = { precision: 6, scale: 2 };
const loneSurrogate = "a\ud800";

/** The kind, the JSON value, the in-process value. */
const taken: readonly [ColumnKind, unknown, unknown, Details?][] = [
  ["text", "žluťoučký 👍", "žluťoučký 👍"],
  ["text", "", ""],
  ["text", "👍👍👍", "👍👍👍", { maxLength: 3 }],
  ["text", "draft", "draft", { enumValues: ["draft", "done"] }],
  ["integer", 5, 5],
  ["integer", -0, 0],
  ["integer", 12n, 12],
  ["integer", 9007199254740993n, 9007199254740993n],
  ["integer", -(2n ** 63n), -(2n ** 63n)],
  ["bigint", 5, "5"],
  ["bigint", "007", "7"],
  ["bigint", "-0", "0"],
  ["bigint", 9007199254740993n, "9007199254740993"],
  ["bigint", "9223372036854775807", "9223372036854775807"],
  ["real", 1.5, 1.5],
  ["real", -0, 0],
  ["real", 9007199254740993n, 9007199254740992],
  ["decimal", 0.99, "0.99", money],
  ["decimal", "0.9", "0.90", money],
  ["decimal", "-0.000", "0.00", money],
  ["decimal", "9999.99000", "9999.99", money],
  ["decimal", 1e-7, "0.0000001"],
  ["decimal", "1.5e3", "1500"],
  ["decimal", "00.1230", "0.1230"],
  ["decimal", "0.99", "0.99", { precision: 2, scale: 2 }],
  ["decimal", 12n, "12", { precision: 2, scale: 0 }],
  ["decimal", 0.1 + 0.2, "0.30000000000000004"],
  ["decimal", 0.00999, "0.00999", { precision: 3, scale: 5 }],
  ["decimal", 12300, "12300", { precision: 6, scale: -2 }],
  ["decimal", "0.0", "0", { precision: 6, scale: -2 }],
  ["decimal", "-99999900", "-99999900", { precision: 6, scale: -2 }],
  ["decimal", parseJson("0.1234567890123456789"), "0.1234567890123456789"],
  ["decimal", parseJson("1e400"), `1${"0".repeat(400)}`],
  ["real", parseJson("0.1234567890123456789"), 0.12345678901234568],
  ["boolean", true, true],
  ["timestamp", "2024-02-29T12:00:00Z", "2024-02-29T12:00:00.000Z"],
  ["timestamp", "2024-01-01T00:30:00.5+01:00", "2023-12-31T23:30:00.500Z"],
  ["timestamp", "2024-01-01t00:00:00.123456z", "2024-01-01T00:00:00.123456Z"],
  ["timestamp", "2024-01-01 00:00:00.123000000-00:00", "2024-01-01T00:00:00.123Z"],
  ["timestamp", "0001-01-01T00:00:00Z", "0001-01-01T00:00:00.000Z"],
  ["timestamp", "0099-12-31T23:59:59.999999+00:01", "0099-12-31T23:58:59.999999Z"],
  ["timestamp", 1704067200123, "2024-01-01T00:00:00.123Z"],
  ["timestamp", -1, "1969-12-31T23:59:59.999Z"],
  ["timestamp", new Date(0), "1970-01-01T00:00:00.000Z"],
  ["date", "2000-02-29", "2000-02-29"],
  ["uuid", "550E8400-E29B-41D4-A716-446655440000", "550e8400-e29b-41d4-a716-446655440000"],
  ["json", { a: [1, "x", null, { b: true }] }, { a: [1, "x", null, { b: true }] }],
  ["json", 9007199254740993n, 9007199254740993n],
  ["bytes", "AAEC", "AAEC"],
  ["bytes", "", ""],
];

for (const [kind, value, expected, details] of taken) {
  Deno.test(`${kind} takes ${show(value)}`, () => {
    assertEquals(kinds[kind].fromJson(value, columnOf(kind, details)), expected);
  });
}

const refused: readonly [ColumnKind, unknown, Details?][] = [
  ["text", 5],
  ["text", "a\0b"],
  ["text", loneSurrogate],
  ["text", "👍👍👍👍", { maxLength: 3 }],
  ["text", "other", { enumValues: ["draft"] }],
  ["integer", "12.0"],
  ["integer", 1.5],
  ["integer", 2 ** 53],
  ["integer", 2n ** 63n],
  ["integer", true],
  ["integer", NaN],
  ["bigint", "12abc"],
  ["bigint", "1e3"],
  ["bigint", " 1"],
  ["bigint", "+1"],
  ["bigint", "9".repeat(10_000)],
  ["bigint", 2 ** 53],
  ["bigint", "9223372036854775808"],
  ["real", Infinity],
  ["real", "1.5"],
  ["real", 10n ** 400n],
  ["decimal", "0.999", money],
  ["decimal", "10000", money],
  ["decimal", "1,5"],
  ["decimal", ""],
  ["decimal", "."],
  ["decimal", "NaN"],
  ["decimal", 0.01, { precision: 3, scale: 5 }],
  ["decimal", 12345, { precision: 6, scale: -2 }],
  ["decimal", "100000000", { precision: 6, scale: -2 }],
  ["decimal", parseJson("0.99999999999999999"), money],
  ["integer", parseJson("1.00000000000000000001")],
  ["real", parseJson("1e400")],
  ["decimal", NaN],
  ["decimal", "1e9999"],
  ["decimal", "1e999", { precision: null, scale: 2 }],
  ["boolean", "true"],
  ["boolean", 1],
  ["timestamp", "2024-02-30T00:00:00Z"],
  ["timestamp", "2023-02-29T00:00:00Z"],
  ["timestamp", "1900-02-29T00:00:00Z"],
  ["timestamp", "2024-01-01T00:00:60Z"],
  ["timestamp", "2024-01-01T24:00:00Z"],
  ["timestamp", "2024-01-01T00:00:00"],
  ["timestamp", "2024-02-30"],
  ["timestamp", "2024-01-01T00:00:00.Z"],
  ["timestamp", "2024-01-01T00:00:00.1234567"],
  ["timestamp", "2024-01-01T00:00:00+24:00"],
  ["timestamp", "0001-01-01T00:00:00+00:01"],
  ["timestamp", "9999-12-31T23:59:59-00:01"],
  ["timestamp", "0000-01-01T00:00:00Z"],
  ["timestamp", 1.5],
  ["timestamp", 1e15],
  ["timestamp", new Date(NaN)],
  ["timestamp", "1704067200000.5"],
  ["timestamp", "+1704067200000"],
  ["timestamp", "999999999999999"],
  ["timestamp", ""],
  ["date", "2024-1-1"],
  ["date", "2024-04-31"],
  ["date", "2024-01-01T00:00:00Z"],
  ["date", "2024-00-10"],
  ["uuid", "550e8400e29b41d4a716446655440000"],
  ["json", { a: "x\0" }],
  ["json", { [loneSurrogate]: 1 }],
  ["json", nested(33)],
  ["json", [Infinity]],
  ["json", { a: undefined }],
  ["json", new Date(0)],
  ["bytes", "AAE"],
  ["bytes", "AA EC"],
  ["bytes", "AAF="],
  ["bytes", "-_8="],
];

for (const [kind, value, details] of refused) {
  Deno.test(`${kind} refuses ${show(value)}`, () => {
    assertThrows(() => kinds[kind].fromJson(value, columnOf(kind, details)), InvalidValue);
  });
}

const texts: readonly [ColumnKind, string, unknown, Details?][] = [
  ["text", "007", "007"],
  ["text", "unknown member", "unknown member", { enumValues: ["draft"] }],
  ["text", "longer than it may be", "longer than it may be", { maxLength: 3 }],
  ["integer", "9007199254740993", 9007199254740993n],
  ["integer", "-12", -12],
  ["integer", "-0", 0],
  ["bigint", "012", "12"],
  ["real", "-10.5e1", -105],
  ["decimal", "19.9", "19.90", money],
  ["boolean", "true", true],
  ["boolean", "0", false],
  ["timestamp", "2024-01-01", "2024-01-01T00:00:00.000Z"],
  ["timestamp", "2024-01-01T02:00:00+02:00", "2024-01-01T00:00:00.000Z"],
  ["json", '{"a":9007199254740993}', { a: 9007199254740993n }],
];

for (const [kind, text, expected, details] of texts) {
  Deno.test(`the text ${text} is read as ${kind}`, () => {
    assertEquals(kinds[kind].fromText(text, columnOf(kind, details)), expected);
  });
}

const refusedTexts: readonly [ColumnKind, string][] = [
  ["text", "\0"],
  ["integer", "1.5"],
  ["integer", "1e3"],
  ["integer", "+1"],
  ["integer", ""],
  ["integer", "12abc"],
  ["integer", "99999999999999999999"],
  ["real", "0x10"],
  ["real", "infinity"],
  ["real", "1e400"],
  ["real", ""],
  ["boolean", "maybe"],
  ["timestamp", "2024-02-30"],
  ["timestamp", "yesterday"],
  ["json", "{"],
];

Deno.test("values that a kind does not have are texts of filters, and nothing to write", () => {
  const special: readonly (readonly [ColumnKind, ...(readonly string[])])[] = [
    ["real", "NaN", "Infinity", "-Infinity"],
    ["decimal", "NaN", "Infinity", "-Infinity"],
    ["date", "infinity", "-infinity", "0044-03-15 BC", "10000-01-01"],
    ["timestamp", "-infinity", "0044-03-15 12:00:00+00 BC", "10000-01-01 00:00:00.5"],
  ];
  for (const [kind, ...texts] of special) {
    for (const text of texts) {
      assertEquals(kinds[kind].fromText(text, columnOf(kind)), text);
      assertThrows(() => kinds[kind].fromJson(text, columnOf(kind)), InvalidValue);
    }
  }
});

for (const [kind, text] of refusedTexts) {
  Deno.test(`the text ${JSON.stringify(text)} is refused as ${kind}`, () => {
    assertThrows(() => kinds[kind].fromText(text, columnOf(kind)), InvalidValue);
  });
}

/** Ascending; the values of one list are equal. */
const orders: readonly [ColumnKind, readonly (readonly unknown[])[]][] = [
  ["text", [[""], ["B"], ["Z"], ["a"], ["a\u0301"], ["á"], ["\ud7ff"], ["ﬀ"], ["👍"], ["👍a"]]],
  ["integer", [[-(2n ** 63n)], [-1], [0], [5], [2 ** 53 - 1], [2n ** 53n], [2n ** 53n + 1n]]],
  ["bigint", [["-10"], ["-9"], ["0"], ["9"], ["10"], ["9007199254740993"]]],
  ["real", [[-1.5], [0, -0], [1e-300], [1e300]]],
  ["decimal", [["-10"], ["-9.5"], ["0", "0.00"], ["0.5", "0.50"], ["0.51"], ["9"], ["10.0", "10"]]],
  ["boolean", [[false], [true]]],
  ["timestamp", [
    ["0001-01-01T00:00:00.000Z"],
    ["2024-01-01T00:00:00.123Z", "2024-01-01T00:00:00.123000Z"],
    ["2024-01-01T00:00:00.123456Z"],
    ["2024-01-01T00:00:00.124Z"],
    ["2024-01-01T00:00:01.000Z"],
  ]],
  ["date", [["0001-01-01"], ["2024-01-31"], ["2024-02-01"]]],
  ["uuid", [["00000000-0000-0000-0000-000000000000"], ["550e8400-e29b-41d4-a716-446655440000"]]],
];

for (const [kind, ascending] of orders) {
  Deno.test(`${kind} has the databases' order`, () => {
    const ranked = ascending.flatMap((equal, rank) => equal.map((value) => ({ value, rank })));
    for (const left of ranked) {
      for (const right of ranked) {
        assertEquals(
          Math.sign(kinds[kind].compare?.(left.value, right.value) ?? NaN),
          Math.sign(left.rank - right.rank),
          `${show(left.value)} and ${show(right.value)}`,
        );
      }
    }
  });
}

Deno.test("a stored onInvalidValue compares without throwing and equals no value", () => {
  for (const [kind, ascending] of orders) {
    if (kind === "text") continue;
    for (const onInvalidValue of ["infinity", "NaN", "", 2.5, 7n]) {
      for (const value of ascending.flat()) {
        if (value !== onInvalidValue) {
          assertEquals(kinds[kind].compare?.(onInvalidValue, value) === 0, false);
        }
      }
    }
  }
});

Deno.test("text order is the byte order of UTF-8", () => {
  const encoder = new TextEncoder();
  const character = fc.constantFrom(
    "a",
    "é",
    "\u{7ff}",
    "\ud7ff",
    "\ue000",
    "\uffff",
    "👍",
    "\u{10ffff}",
  );
  const text = fc.array(character, { maxLength: 4 }).map((characters) => characters.join(""));
  fc.assert(fc.property(text, text, (left, right) => {
    assertEquals(
      Math.sign(kinds.text.compare?.(left, right) ?? NaN),
      Math.sign(compareBytes(encoder.encode(left), encoder.encode(right))),
    );
  }));
});

Deno.test("any number written as a decimal keeps its value", () => {
  const digits = fc.bigInt({ min: -(10n ** 15n) + 1n, max: 10n ** 15n - 1n });
  fc.assert(fc.property(digits, fc.integer({ min: -30, max: 30 }), (mantissa, exponent) => {
    const number = Number(`${mantissa}e${exponent}`);
    const text = kinds.decimal.fromJson(number, columnOf("decimal"));
    assertEquals(Number(text), number + 0);
  }));
});

Deno.test("any moment that Date can print is parsed to the millisecond", () => {
  const range = {
    min: new Date("0001-01-01T00:00:00Z"),
    max: new Date("9999-12-31T23:59:59.999Z"),
  };
  fc.assert(fc.property(fc.date({ ...range, noInvalidDate: true }), (date) => {
    const column = columnOf("timestamp");
    assertEquals(kinds.timestamp.fromJson(date.getTime(), column), date.toISOString());
    assertEquals(kinds.timestamp.fromJson(date.toISOString(), column), date.toISOString());
  }));
});

function compareBytes(left: Uint8Array, right: Uint8Array): number {
  const at = left.findIndex((byte, index) => byte !== right[index]);
  return at < 0 ? left.length - right.length : (left[at] ?? 0) - (right[at] ?? -1);
}

function nested(depth: number): unknown {
  return depth === 0 ? 1 : [nested(depth - 1)];
}

function show(value: unknown): string {
  if (typeof value === "bigint") return `${value}n`;
  const text = Object.is(value, -0) ? "-0" : JSON.stringify(value) ?? String(value);
  return text.length > 60 ? `${text.slice(0, 60)}…` : text;
}

const moments: readonly [unknown, string, string][] = [
  ["2024-01-01T00:00:00.1234567Z", "2024-01-01T00:00:00.1234567Z", "2024-01-01T00:00:00.123456Z"],
  [
    `2024-01-01T00:00:00.${"9".repeat(500)}Z`,
    `2024-01-01T00:00:00.${"9".repeat(500)}Z`,
    "2024-01-01T00:00:00.999999Z",
  ],
  ["2024-01-01T02:00:00.5+02:00", "2024-01-01T02:00:00.5+02:00", "2024-01-01T00:00:00.500Z"],
  ["2024-01-01", "2024-01-01", "2024-01-01T00:00:00.000Z"],
  [1704067200123, "1704067200123", "2024-01-01T00:00:00.123Z"],
  ["1704067200123", "1704067200123", "2024-01-01T00:00:00.123Z"],
  [-1, "-1", "1969-12-31T23:59:59.999Z"],
  [0, "0", "1970-01-01T00:00:00.000Z"],
];

for (const [inBody, inFilter, moment] of moments) {
  Deno.test(`a body and a filter take different timestamps: ${show(inBody).slice(0, 40)}`, () => {
    assertEquals(kinds.timestamp.fromJson(inBody, columnOf("timestamp")), moment);
    assertEquals(kinds.timestamp.fromText(inFilter, columnOf("timestamp")), moment);
  });
}
