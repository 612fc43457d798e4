import { assertEquals } from "@std/assert";
import { all } from "../../../src/filter/builders.ts";
import { parseJson } from "../../../src/schema/exact_json.ts";
import { resource } from "../../../src/resource/define/resource_definition.ts";
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
} from "../../../src/schema/column_builder.ts";
import type { ColumnKind } from "../../../src/schema/kind.ts";
import { table } from "../../../src/schema/table.ts";
import { columnInfoOf, type ColumnLike } from "../../../src/schema/table_like.ts";
import { edges } from "../../sql/round_trip.ts";
import { testOnEveryEngine, withService } from "../../support/http.ts";

const kinds = table("kinds", {
  id: integer().primaryKey(),
  text: text().as("a_text"),
  integer: integer().as("a_integer"),
  bigint: bigint().as("a_bigint"),
  real: real().as("a_real"),
  decimal: decimal().as("a_decimal"),
  boolean: boolean().as("a_boolean"),
  timestamp: timestamp().as("a_timestamp"),
  date: date().as("a_date"),
  uuid: uuid().as("a_uuid"),
  json: json().as("a_json"),
  bytes: bytes().as("a_bytes"),
});

const columns: Readonly<Record<ColumnKind, ColumnLike<unknown>>> = kinds;

testOnEveryEngine(
  "a value of any kind that db.sql wrote is what GET answers, and what db.sql reads",
  (engine) =>
    withService(engine, [kinds], () => ({
      resources: [
        resource(kinds, { id: kinds.id, auth: { public: { read: true }, create: () => all() } }),
      ],
    }), async ({ app, db }) => {
      let id = 0;
      for (const [kind, column] of Object.entries(columns)) {
        if (kind === "id") continue;
        // The names of the table's other columns are the kinds.
        for (const value of [...edges[kind as ColumnKind], null]) {
          id++;
          await db.sql`INSERT INTO ${kinds} (${kinds.id}) VALUES (${id})`;
          await db.sql`UPDATE ${kinds} SET ${column} = ${value as string}
            WHERE ${kinds.id} = ${id}`;
          await db.sql`INSERT INTO ${kinds} (${kinds.id}, ${column})
            VALUES (${-id}, ${value as string})`;
          const answer = await app.fetch(new Request(`http://test/api/kinds/${id}`));
          // An exact reader: JSON.parse would cut the digits of long integers.
          const shown = parseJson(await answer.text()) as Record<string, unknown>;
          assertEquals(shown[kind], value);
          const { rows } = await db.sql`SELECT * FROM ${kinds} WHERE ${kinds.id} = ${id}`;
          assertEquals(rows, [shown]);
          const same = await db.sql`
            SELECT ${column} AS v FROM ${kinds} WHERE ${kinds.id} IN ${[id, -id]}`;
          assertEquals(same.rows, [{ v: shown[kind] }, { v: shown[kind] }]);
          if (value === null || kind === "json" || kind === "bytes") continue;
          const found = await db.sql`SELECT ${kinds.id} FROM ${kinds}
            WHERE ${column} = ${value as string} AND ${kinds.id} > ${0}`;
          assertEquals(found.rows, [{ id }], `${columnInfoOf(column).name} = ${String(value)}`);
        }
      }
    }),
);

testOnEveryEngine(
  "Date, bytes, bigint and number are taken where the wire has texts",
  async (engine) => {
    const db = await engine.open();
    try {
      await db.createTables([kinds]);
      const at = new Date("2026-01-02T03:04:05.678Z");
      await db.sql`INSERT INTO ${kinds}
        (${kinds.id}, ${kinds.timestamp}, ${kinds.bytes}, ${kinds.bigint}, ${kinds.decimal}, ${kinds.integer})
        VALUES (1, ${at}, ${new Uint8Array([0, 1, 2])}, ${2n ** 60n}, ${1.5}, ${7n})`;
      const { rows } = await db.sql`
        SELECT ${kinds.timestamp}, ${kinds.bytes}, ${kinds.bigint}, ${kinds.decimal}, ${kinds.integer}
        FROM ${kinds} WHERE ${kinds.timestamp} = ${at} AND ${kinds.bytes} = ${new Uint8Array([
        0,
        1,
        2,
      ])}`;
      const [timestamp, bytes] = [at.toISOString(), "AAEC"];
      assertEquals(rows, [
        { timestamp, bytes, bigint: String(2n ** 60n), decimal: "1.5", integer: 7 },
      ]);
    } finally {
      await db.close();
    }
  },
);
