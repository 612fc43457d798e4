import { assertEquals } from "@std/assert";
import { hasComparableKey } from "../../src/compile/comparable_key.ts";
import { createRowReader, fetchRows } from "../../src/db/rows.ts";
import { allRows } from "../../src/filter/filter.ts";
import { compareKeys, type Key, keyOf } from "../../src/plan/key.ts";
import {
  bigint,
  boolean,
  bytes,
  date,
  decimal,
  integer,
  real,
  text,
  timestamp,
  uuid,
} from "../../src/schema/column_builder.ts";
import { table } from "../../src/schema/table.ts";
import { tableInfoOf } from "../../src/schema/table_like.ts";
import { kinds } from "../../src/schema/kind_of.ts";
import type { Row, TableInfo } from "../../src/schema/table_info.ts";
import { canonicalValueText } from "../../src/schema/exact_json.ts";
import { edgeValues } from "../invariants/filter_worlds.ts";
import { insertRows, testOnEngines } from "../support/http.ts";
import { runScript } from "../support/scratch.ts";
import type { Database } from "../../src/db/database.ts";

const part = () => integer().primaryKey();

/** A table for each kind; the second part shows the order of a composite key. */
const keyed = [
  table("texts", { id: text().primaryKey(), part: part() }),
  table("integers", { id: integer().primaryKey(), part: part() }),
  table("bigints", { id: bigint().primaryKey(), part: part() }),
  table("reals", { id: real().primaryKey(), part: part() }),
  table("decimals", { id: decimal().primaryKey(), part: part() }),
  table("booleans", { id: boolean().primaryKey(), part: part() }),
  table("timestamps", { id: timestamp().primaryKey(), part: part() }),
  table("dates", { id: date().primaryKey(), part: part() }),
  table("uuids", { id: uuid().primaryKey(), part: part() }),
];

testOnEngines(
  "keys of every kind have the same order in memory and in the database",
  async (engine) => {
    const db = await engine.open();
    try {
      for (const keys of keyed) {
        const info = tableInfoOf(keys);
        const kind = info.name;
        await db.createTables([keys]);
        await insertRows(db, keys, rowsOf(info));
        assertEquals(hasComparableKey(info, db.dialect), true, kind);
        const walked = await walk(db, info);
        assertEquals(walked.toSorted((a, b) => compareKeys(a, b, info)), walked, kind);
        // The order is strict: otherwise equal results would prove nothing.
        for (let at = 1; at < walked.length; at++) {
          assertEquals(compareKeys(walked[at - 1]!, walked[at]!, info) < 0, true, kind);
        }
      }
      const blobs = tableInfoOf(table("blobs", { id: bytes().primaryKey() }));
      assertEquals(hasComparableKey(blobs, db.dialect), false);
    } finally {
      await db.close();
    }
  },
);

testOnEngines("texts in the keys of existing tables follow their own collation", async (engine) => {
  const db = await engine.open();
  try {
    await runScript(
      db.driver,
      engine.name.includes("sqlite")
        ? `CREATE TABLE a_words (id TEXT PRIMARY KEY NOT NULL COLLATE NOCASE);
           CREATE TABLE b_numbers (id INTEGER PRIMARY KEY);
           CREATE TABLE c_codes (id UUID PRIMARY KEY NOT NULL);
           CREATE TABLE d_moments (id DATETIME PRIMARY KEY NOT NULL)`
        : `CREATE TABLE a_words (id text PRIMARY KEY);
           CREATE TABLE b_numbers (id int PRIMARY KEY);
           CREATE TABLE c_codes (id uuid PRIMARY KEY);
           CREATE TABLE d_moments (id timestamp PRIMARY KEY)`,
    );
    const { tables } = await db.introspect();
    const isSqlite = db.dialect.engine === "sqlite";
    assertEquals(
      tables.map((info) => hasComparableKey(info, db.dialect)),
      [false, true, true, !isSqlite],
    );
  } finally {
    await db.close();
  }
});

async function walk(db: Database, info: TableInfo): Promise<readonly Key[]> {
  const reader = createRowReader(db.dialect, () => {});
  const order = info.primaryKey.map((column) => ({ column, descending: false }));
  const plan = { kind: "read", table: info, columns: info.columns, where: allRows } as const;
  const read = await fetchRows(db.driver, { ...plan, order, after: null, limit: 10_000 }, reader);
  return read.rows.map((row) => keyOf(row, info));
}

function rowsOf(info: TableInfo): Row[] {
  const column = info.primaryKey[0]!;
  const values = edgeValues[column.kind].map((value) => kinds[column.kind].fromJson(value, column));
  const distinct = new Map(values.map((value) => [canonicalValueText(value, column), value]));
  return [...distinct.values()].flatMap((id) => [{ id, part: 2 }, { id, part: 1 }]);
}
