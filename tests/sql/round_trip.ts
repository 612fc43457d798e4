import { assertEquals } from "@std/assert";
import { kinds } from "../../src/schema/kind_of.ts";
import type { ColumnInfo } from "../../src/schema/table_info.ts";
import type { ColumnKind } from "../../src/schema/kind.ts";
import type { Dialect, TextDialect } from "../../src/sql/dialect.ts";
import type { SqlValue } from "../../src/sql/fragment.ts";

/** In-process values at the edges of each kind. */
export const edges: Readonly<Record<ColumnKind, readonly unknown[]>> = {
  text: ["", "a", "é👍\uffff", 'it\'s "quoted" \\ ', "null"],
  integer: [0, -1, 2 ** 53 - 1, 2n ** 53n + 1n, 2n ** 63n - 1n, -(2n ** 63n)],
  bigint: ["0", "-1", "9007199254740993", "9223372036854775807", "-9223372036854775808"],
  real: [0, -1.5, 0.1, 5e-324, 1.7976931348623157e308, 1e21],
  decimal: ["0", "-0.01", "999999999999999", "0.000000000000001", "123456789012.345"],
  boolean: [true, false],
  timestamp: [
    "0001-01-01T00:00:00.000Z",
    "1969-12-31T23:59:59.999999Z",
    "2024-02-29T12:00:00.123Z",
    "2024-02-29T12:00:00.123456Z",
    "9999-12-31T23:59:59.999999Z",
  ],
  date: ["0001-01-01", "2024-02-29", "9999-12-31"],
  uuid: ["550e8400-e29b-41d4-a716-446655440000"],
  json: [{ a: [1, "x", null], b: 2n ** 63n }, "text", 5, true, [], ""],
  bytes: ["", "AAEC", "/+8="],
};

/** The text dialect is tested on real engines; nothing here uses it. */
export const noText: TextDialect = new Proxy<TextDialect>(Object.create(null), {});

/** Encodes, lets `carry` play the driver, decodes, and requires the same value without a misfit. */
export function assertRoundTrip(
  dialect: Dialect,
  column: ColumnInfo,
  value: unknown,
  carry: (value: SqlValue) => SqlValue,
): void {
  assertEquals(kinds[column.kind].fromJson(value, column), value);
  dialect.check(value, column);
  assertEquals(decodeFitting(dialect, carry(dialect.encode(value, column)), column), value);
}

/** Decodes a value that must fit its kind. */
export function decodeFitting(dialect: Dialect, value: SqlValue, column: ColumnInfo): unknown {
  return dialect.decode(value, column, () => {
    throw new Error(`misfit: ${String(value)}`);
  });
}

/** Decodes a value that must not fit, with exactly one call of `misfit`. */
export function decodeMisfit(dialect: Dialect, value: SqlValue, column: ColumnInfo): unknown {
  let misfits = 0;
  const decoded = dialect.decode(value, column, () => void misfits++);
  assertEquals(misfits, 1);
  return decoded;
}
