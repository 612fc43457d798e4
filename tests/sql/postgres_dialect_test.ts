import { assertEquals, assertStrictEquals, assertThrows } from "@std/assert";
import { type ColumnKind, InvalidValue } from "../../src/schema/kind.ts";
import type { ColumnInfo } from "../../src/schema/table_info.ts";
import { type SqlValue, toStatement } from "../../src/sql/fragment.ts";
import { postgresDialect } from "../../src/engines/postgres/sql/dialect.ts";
import { columnOf } from "../schema/column_of.ts";
import { assertRoundTrip, decodeFitting, decodeMisfit, edges, noText } from "./round_trip.ts";

const dialect = postgresDialect({ text: noText });
const kinds = Object.entries(edges) as [ColumnKind, readonly unknown[]][];

for (const [kind, values] of kinds) {
  Deno.test(`${kind} goes through Postgres unchanged`, () => {
    for (const value of values) {
      assertRoundTrip(dialect, columnOf(kind), value, (bound) => asServerText(bound, kind));
    }
    assertStrictEquals(decodeFitting(dialect, null, columnOf(kind)), null);
    assertStrictEquals(dialect.encode(null, columnOf(kind)), null);
  });
}

const texts: readonly [ColumnKind, string, unknown][] = [
  ["boolean", "t", true],
  ["boolean", "f", false],
  ["integer", "9007199254740991", 9007199254740991],
  ["integer", "9007199254740993", 9007199254740993n],
  ["real", "-0", 0],
  ["real", "1e-07", 1e-7],
  ["decimal", "1.50", "1.50"],
  ["timestamp", "2024-01-01 00:00:00.123456+00", "2024-01-01T00:00:00.123456Z"],
  ["timestamp", "2024-01-01 00:00:00.1234+00", "2024-01-01T00:00:00.123400Z"],
  ["timestamp", "2024-01-01 00:00:00.5+00", "2024-01-01T00:00:00.500Z"],
  ["timestamp", "2009-01-01 00:00:00", "2009-01-01T00:00:00.000Z"],
  ["bytes", "\\x000102", "AAEC"],
  ["bytes", "\\x", ""],
  ["json", "null", null],
];

for (const [kind, text, expected] of texts) {
  Deno.test(`${kind} reads ${text}`, () => {
    assertStrictEquals(decodeFitting(dialect, text, columnOf(kind)), expected);
  });
}

const misfits: readonly [ColumnKind, string][] = [
  ["timestamp", "infinity"],
  ["timestamp", "0044-03-15 12:00:00+00 BC"],
  ["timestamp", "10000-01-01 00:00:00+00"],
  ["date", "-infinity"],
  ["real", "NaN"],
  ["real", "Infinity"],
  ["decimal", "NaN"],
  ["boolean", "maybe"],
];

for (const [kind, text] of misfits) {
  Deno.test(`${kind} gives ${text} as it is, says so once, and can bind it again`, () => {
    assertEquals(decodeMisfit(dialect, text, columnOf(kind)), text);
    assertEquals(dialect.encode(text, columnOf(kind)), text);
  });
}

const bounds: readonly [ColumnKind, string | null, unknown, string, SqlValue][] = [
  ["text", null, "a", "$1::text", "a"],
  ["integer", "int4", 5, "$1::int8", 5],
  ["bigint", null, "5", "$1::int8", "5"],
  ["real", null, 0.1, "$1::float8", 0.1],
  ["real", "real", 0.1, "$1::float4", 0.1],
  ["real", "float4", 0, "$1::float4", 0],
  ["real", "float4", 1e300, "$1::float8", 1e300],
  ["real", "float4", 1e-300, "$1::float8", 1e-300],
  ["decimal", null, "0.99", "$1::numeric", "0.99"],
  ["boolean", null, true, "$1::boolean", "true"],
  ["date", null, "2024-01-01", "$1::date", "2024-01-01"],
  [
    "timestamp",
    "timestamp(3) without time zone",
    "2024-01-01T00:00:00.000Z",
    "$1::timestamp",
    "2024-01-01T00:00:00.000Z",
  ],
  [
    "timestamp",
    "timestamp with time zone",
    "2024-01-01T00:00:00.000Z",
    "$1::timestamptz",
    "2024-01-01T00:00:00.000Z",
  ],
];

for (const [kind, existingType, value, text, bound] of bounds) {
  Deno.test(`${kind} ${existingType ?? "of our own"} binds ${value} as ${text}`, () => {
    const fragment = dialect.bound(value, columnOf(kind, { existingType }));
    assertEquals(toStatement(fragment, dialect.placeholder), { text, values: [bound] });
  });
}

const operands: readonly [Partial<ColumnInfo>, string, string][] = [
  [{}, '"c"', '"c" COLLATE "C"'],
  [{ existingType: "character varying(160)" }, '"c"', '"c"'],
  [{ existingType: "text" }, '"c"', '"c"'],
  [{ existingType: "character(3)" }, '"c"::text', '"c"::text'],
  [{ existingType: "inet" }, '"c"::text', '"c"::text'],
  [{ existingType: "integer[]" }, '"c"::text', '"c"::text'],
];

for (const [details, operand, ordered] of operands) {
  Deno.test(`text ${details.existingType ?? "of our own"} is compared as ${operand}`, () => {
    const column = columnOf("text", details);
    const text = [dialect.operand(column), dialect.ordered(column), dialect.selected(column)]
      .map((fragment) => toStatement(fragment, dialect.placeholder).text);
    assertEquals(text, [operand, ordered, operand]);
  });
}

Deno.test("narrow integers are checked before the server has to refuse them", () => {
  const small = columnOf("integer", { existingType: "smallint" });
  dialect.check(-32768, small);
  dialect.check(null, small);
  assertThrows(() => dialect.check(32768, small), InvalidValue, "between -32768 and 32767");
  assertThrows(
    () => dialect.check(2n ** 53n, columnOf("integer", { existingType: "integer" })),
    InvalidValue,
  );
  dialect.check(2n ** 53n, columnOf("integer", { existingType: "bigint" }));
  dialect.check(2n ** 53n, columnOf("integer"));
});

Deno.test("the planner's estimate is parsed, and any other text is none", () => {
  const read = (cell: SqlValue) => dialect.estimate?.parse(cell);
  assertEquals(read('[{"Plan": {"Node Type": "Seq Scan", "Plan Rows": 120}}]'), 120);
  for (
    const other of ["", "Seq Scan on notes", "{}", "[]", "[null]", "[{}]", '[{"Plan": 5}]', null]
  ) {
    assertEquals(read(other), null, String(other));
  }
});

/** The text that the server sends for a bound value. */
function asServerText(bound: SqlValue, kind: ColumnKind): SqlValue {
  if (bound instanceof Uint8Array) return `\\x${bound.toHex()}`;
  const text = String(bound);
  if (kind === "boolean") return text.slice(0, 1);
  return kind === "timestamp" ? text.replace("T", " ").replace(/\.?0*Z$/, "+00") : text;
}
