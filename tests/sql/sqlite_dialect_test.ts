import { assertEquals, assertStrictEquals, assertThrows } from "@std/assert";
import { type ColumnKind, InvalidValue } from "../../src/schema/kind.ts";
import type { ColumnInfo, TimestampFormat } from "../../src/schema/table_info.ts";
import { type SqlValue, toStatement } from "../../src/sql/fragment.ts";
import { sqliteDialect } from "../../src/engines/sqlite/sql/dialect.ts";
import { columnOf } from "../schema/column_of.ts";
import { assertRoundTrip, decodeFitting, decodeMisfit, edges, noText } from "./round_trip.ts";

const dialect = sqliteDialect({ text: noText });
const kinds = Object.entries(edges) as [ColumnKind, readonly unknown[]][];

for (const [kind, values] of kinds) {
  Deno.test(`${kind} goes through SQLite unchanged`, () => {
    for (const value of values) {
      assertRoundTrip(dialect, columnOf(kind), value, (bound) => bound);
      // A statement with RETURNING hands over every integer as a bigint.
      assertRoundTrip(
        dialect,
        columnOf(kind),
        value,
        (bound) => kind !== "real" && Number.isSafeInteger(bound) ? BigInt(Number(bound)) : bound,
      );
    }
    assertStrictEquals(decodeFitting(dialect, null, columnOf(kind)), null);
    assertStrictEquals(dialect.encode(null, columnOf(kind)), null);
  });
}

const stored: readonly [ColumnKind, unknown, SqlValue][] = [
  ["boolean", true, 1],
  ["integer", 5, 5],
  ["bigint", "5", 5n],
  ["decimal", "0.99", 0.99],
  ["decimal", "5.00", 5],
  ["decimal", "9007199254740993", 9007199254740993n],
  ["timestamp", "2024-01-01T00:00:00.123Z", "2024-01-01T00:00:00.123000Z"],
  ["json", { a: 1 }, '{"a":1}'],
  ["bytes", "AAEC", new Uint8Array([0, 1, 2])],
];

for (const [kind, value, expected] of stored) {
  Deno.test(`${kind} ${JSON.stringify(value)} has one stored form`, () => {
    assertEquals(dialect.encode(value, columnOf(kind)), expected);
  });
}

const noon = "2024-02-29T12:00:00.000Z";
const micros = "2024-02-29T12:00:00.123456Z";
const formats: readonly [TimestampFormat, string, SqlValue][] = [
  ["date time[.fff]", noon, "2024-02-29 12:00:00"],
  ["date time[.fff]", "2024-02-29T12:00:00.120Z", "2024-02-29 12:00:00.120"],
  ["date time[.fff]", micros, "2024-02-29 12:00:00.123456"],
  ["date time.fff", noon, "2024-02-29 12:00:00.000"],
  ["date time.fff", micros, "2024-02-29 12:00:00.123456"],
  ["date time.ffffff", noon, "2024-02-29 12:00:00.000000"],
  ["dateTtime.fffZ", noon, "2024-02-29T12:00:00.000Z"],
  ["dateTtime[.fff]Z", noon, "2024-02-29T12:00:00Z"],
  ["dateTtime[.fff]", noon, "2024-02-29T12:00:00"],
  ["dateTtime[.ffffff]+00:00", noon, "2024-02-29T12:00:00+00:00"],
  ["dateTtime[.ffffff]+00:00", "2024-02-29T12:00:00.120Z", "2024-02-29T12:00:00.120000+00:00"],
  ["date time[.fff]+00:00", micros, "2024-02-29 12:00:00.123456+00:00"],
  ["epoch-seconds", noon, 1709208000],
  ["epoch-seconds", micros, 1709208000.123456],
  ["epoch-seconds", "1969-12-31T23:59:59.000Z", -1],
  ["epoch-milliseconds", "2024-02-29T12:00:00.123Z", 1709208000123],
  ["epoch-milliseconds", micros, 1709208000123.456],
  ["epoch-milliseconds", "9999-12-31T23:59:59.999Z", 253402300799999],
];

for (const [timestampFormat, value, expected] of formats) {
  Deno.test(`${value} in a column of ${timestampFormat} is ${expected}`, () => {
    const column = columnOf("timestamp", { timestampFormat, existingType: "DATETIME" });
    assertEquals(dialect.encode(value, column), expected);
    assertEquals(decodeFitting(dialect, expected, column), value);
  });
}

const foreign: readonly [ColumnKind, Partial<ColumnInfo>, SqlValue, unknown][] = [
  ["decimal", { scale: 2 }, 0.99, "0.99"],
  ["decimal", { scale: 2 }, 5n, "5.00"],
  ["decimal", { scale: 2 }, "0.9", "0.90"],
  ["decimal", { scale: 0 }, 1e21, "1000000000000000000000"],
  ["decimal", {}, 1e-7, "0.0000001"],
  ["real", {}, 5n, 5],
  ["json", {}, 5n, 5n],
  ["timestamp", { timestampFormat: "date time[.fff]" }, "2009-01-01", "2009-01-01T00:00:00.000Z"],
  [
    "timestamp",
    { timestampFormat: "date time[.fff]" },
    "2009-01-01 01:00:00+01:00",
    "2009-01-01T00:00:00.000Z",
  ],
  ["timestamp", {}, "2009-01-01T00:00:00Z", "2009-01-01T00:00:00.000Z"],
  ["timestamp", { timestampFormat: "epoch-seconds" }, 0n, "1970-01-01T00:00:00.000Z"],
];

for (const [kind, details, value, expected] of foreign) {
  Deno.test(`${kind} reads ${value} of an existing table as ${expected}`, () => {
    assertEquals(decodeFitting(dialect, value, columnOf(kind, details)), expected);
  });
}

const misfits: readonly [ColumnKind, Partial<ColumnInfo>, SqlValue, unknown][] = [
  ["text", {}, 5, 5],
  ["text", {}, new Uint8Array([0, 1, 2]), "AAEC"],
  ["integer", {}, "abc", "abc"],
  ["integer", {}, 1.5, 1.5],
  ["bigint", {}, 1e20, 1e20],
  ["real", {}, Infinity, "Infinity"],
  ["decimal", { scale: 2 }, 0.1 + 0.2, 0.30000000000000004],
  ["decimal", {}, "free", "free"],
  ["boolean", {}, 2, 2],
  ["boolean", {}, "true", "true"],
  ["timestamp", {}, "yesterday", "yesterday"],
  ["timestamp", {}, 5, 5],
  ["timestamp", { timestampFormat: "epoch-seconds" }, "now", "now"],
  ["timestamp", { timestampFormat: "epoch-seconds" }, 1e18, 1e18],
  ["date", {}, "2024-02-30", "2024-02-30"],
  ["uuid", {}, "nobody", "nobody"],
  ["json", {}, "{", "{"],
  ["bytes", {}, "text", "text"],
];

for (const [kind, details, value, expected] of misfits) {
  Deno.test(`${kind} gives ${String(value)} as it is, says so once, and can bind it again`, () => {
    const column = columnOf(kind, details);
    assertEquals(decodeMisfit(dialect, value, column), expected);
    dialect.encode(expected, column);
  });
}

Deno.test("a decimal of more than 15 digits is refused, zeros at its ends do not count", () => {
  const column = columnOf("decimal", { precision: 30, scale: 2 });
  dialect.check("9999999999999.99", column);
  dialect.check("1000000000000000000.00", column);
  dialect.check(null, column);
  assertThrows(() => dialect.check("99999999999999.99", column), InvalidValue, "15 digits");
});

Deno.test("what no column can hold is not bound", () => {
  assertThrows(() => dialect.encode(undefined, columnOf("text")), Error, "undefined");
  assertThrows(() => dialect.encode(new Date(0), columnOf("text")), Error, "object");
});

Deno.test("only text of existing tables has an explicit collation, for equality only", () => {
  const text = (kind: ColumnKind, existingType: string | null) => {
    const column = columnOf(kind, { existingType });
    return [dialect.operand(column), dialect.ordered(column), dialect.selected(column)]
      .map((fragment) => toStatement(fragment, dialect.placeholder).text);
  };
  assertEquals(text("text", null), ['"c"', '"c"', '"c"']);
  assertEquals(text("text", "TEXT"), ['"c" COLLATE BINARY', '"c"', '"c"']);
  assertEquals(text("integer", "INT"), ['"c"', '"c"', '"c"']);
});
