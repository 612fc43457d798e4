import { assertEquals } from "@std/assert";
import { createRowReader, fetchRows } from "../../src/db/rows.ts";
import { allRows, type Filter } from "../../src/filter/filter.ts";
import { rowMatches } from "../../src/filter/match/row_matches.ts";
import {
  bigint,
  boolean,
  bytes,
  date,
  decimal,
  integer,
  json,
  real,
  text,
  timestamp,
  uuid,
} from "../../src/schema/column_builder.ts";
import { table } from "../../src/schema/table.ts";
import { tableInfoOf } from "../../src/schema/table_like.ts";
import { kinds } from "../../src/schema/kind_of.ts";
import type { ColumnInfo, Row } from "../../src/schema/table_info.ts";
import type { ColumnKind } from "../../src/schema/kind.ts";
import type { Engine } from "../support/engines.ts";
import type { Database } from "../../src/db/database.ts";

/** A column of every kind, and two texts. */
export const things = table("things", {
  id: integer().primaryKey(),
  name: text(),
  title: text(),
  age: integer(),
  big: bigint(),
  score: real(),
  price: decimal({ precision: 14, scale: 2 }),
  ok: boolean(),
  at: timestamp(),
  day: date(),
  ref: uuid(),
  data: json(),
  file: bytes(),
});

/** Rows in one database, and what it and the matcher make of a filter. */
export interface FilterWorld extends AsyncDisposable {
  readonly db: Database;
  byDatabase(filter: Filter): Promise<readonly unknown[]>;
  inMemory(filter: Filter): readonly unknown[];
}

/** Fills a table. Throws when the database does not give back what was stored. */
export async function openFilterWorld(
  engine: Engine,
  rows: readonly Row[],
): Promise<FilterWorld> {
  const info = tableInfoOf(things);
  const db = await engine.open();
  const normal = rows.map(normalized);
  await db.createTables([things]);
  const reader = createRowReader(db.dialect, (column) => {
    throw new Error(`${engine.name} gave a value of ${column.name} that does not fit`);
  });
  await db.driver.transaction(async (connection) => {
    for (const row of normal) {
      const values = new Map(info.columns.map((column) => [column, row[column.name]]));
      const { columns } = info;
      const plan = { kind: "insert" as const, table: info, columns, rows: [values], returning: [] };
      await connection.query(reader.compile(plan));
    }
  });
  const read = async (where: Filter, columns: readonly ColumnInfo[]) => {
    const order = info.primaryKey.map((column) => ({ column, descending: false }));
    const plan = { kind: "read" as const, table: info, columns, where, order };
    return (await fetchRows(db.driver, { ...plan, after: null, limit: 10_000 }, reader)).rows;
  };
  assertEquals(await read(allRows, info.columns), normal);
  return {
    db,
    byDatabase: async (filter) => (await read(filter, info.primaryKey)).map(({ id }) => id),
    inMemory: (filter) => normal.filter((row) => rowMatches(filter, row)).map(({ id }) => id),
    [Symbol.asyncDispose]: () => db.close(),
  };
}

/** The row as the service would have it in process: through the checks of a body. */
function normalized(row: Row): Row {
  return Object.fromEntries(
    tableInfoOf(things).columns.map((column) => {
      const value = row[column.name] ?? null;
      return [column.name, value === null ? null : kinds[column.kind].fromJson(value, column)];
    }),
  );
}

/** Texts that engines, libraries and JavaScript have disagreed about. */
export const nastyTexts: readonly string[] = [
  ...["", " ", "a", "A", "ab", "AB", "aB", "abc", "z", "Z", "0", "007", "null", "true", "-"],
  ...["%", "_", "\\", "\\%", "50%", "50\\%", "a_c", "a%c", "*", "?", "[", "]", "[a]", "[^a]", "a*"],
  ...["'", '"', "a'b", 'a"b', "a;b", "a,b", "(a)", "--", "/*", "a b", "a\tb", "a\nb", " a", "a "],
  ...["é", "É", "e\u0301", "E\u0301", "ß", "ẞ", "ss", "SS", "ſ", "s", "ﬀ", "ff"],
  ...["Σ", "σ", "ς", "ΟΔΟΣ", "οδος", "οδοσ", "İ", "I", "i", "ı", "i\u0307", "éİ", "Éi", "éi"],
  ...["\u212a", "k", "K", "é\u212a", "Ék", "\u212b", "å", "Å", "\u2126", "ω", "Ω", "ϴ", "θ"],
  ...["ǅ", "ǆ", "Ǆ", "ᾈ", "ᾀ", "Ж", "ж", "Ꭰ", "ꭰ", "Ა", "ა", "𐐀", "𐐨", "𞤀", "𞤢"],
  ...["👍", "👍👍", "a👍", "👍a", "👩‍👩‍👧", "\uffff", "\ue000", "\u{10ffff}", "a\u{10ffff}", "\ud7ff"],
  ...["žluťoučký", "ŽLUŤOUČKÝ", "Kill Bill", "KILL bill", "\u200b", "\u00a0", "\u0001", "\u007f"],
];

/** Values of each kind at the edges of what it holds, as bodies have them. */
export const edgeValues: Readonly<Record<ColumnKind, readonly unknown[]>> = {
  text: nastyTexts,
  integer: [
    ...[0, 1, -1, 18, 2 ** 31, -(2 ** 31) - 1, 2 ** 53 - 1, -(2 ** 53) + 1],
    ...[2n ** 53n, 2n ** 53n + 1n, -(2n ** 53n) - 1n, 2n ** 63n - 1n, -(2n ** 63n)],
  ],
  bigint: [
    ...["0", "1", "-1", "9007199254740991", "9007199254740992", "9007199254740993"],
    ...["-9007199254740993", "9223372036854775807", "-9223372036854775808"],
  ],
  real: [0, -0, 1, -1.5, 0.1, 0.30000000000000004, 1e300, -1e300, 5e-324, 1e-7, 2 ** 53, 1e21],
  decimal: ["0", "-0.00", "0.10", "9.50", "9.5", "10", "-1.5", "123456789012.34", "0.01", "99.99"],
  boolean: [true, false],
  timestamp: [
    ...["2024-01-01T00:00:00Z", "2024-01-01T00:00:00.123Z", "2024-01-01T00:00:00.123456Z"],
    ...["2024-01-01T00:00:00.123457Z", "2023-12-31T23:59:59.999999Z", "1969-12-31T23:59:59.5Z"],
    ...["0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999999Z", "2024-02-29T12:00:00+02:00"],
  ],
  date: ["2024-01-01", "2024-02-29", "1969-12-31", "0001-01-01", "9999-12-31"],
  uuid: [
    "550e8400-e29b-41d4-a716-446655440000",
    "00000000-0000-0000-0000-000000000000",
    "FFFFFFFF-ffff-ffff-ffff-ffffffffffff",
  ],
  json: [{ a: [1, "x"] }, [], "", 0, false, "null"],
  bytes: ["", "AA==", "AP8="],
};
