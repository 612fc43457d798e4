import { assertEquals } from "@std/assert";
import { createDrizzleTables, drizzleLines } from "../support/drizzle_schema.ts";
import { testOnPostgres } from "../support/postgres_tests.ts";
import { all, openDatabase, resource } from "../../mod.ts";
import type { TableInfo } from "../../exports/schema.ts";
import { tableInfoOf } from "../../src/schema/table_like.ts";
import { withService } from "../support/http.ts";

testOnPostgres("types of Drizzle are described as introspection describes them", async (url) => {
  for (const line of drizzleLines) {
    const { pg: d, sql } = line;
    const isOlder = line.name === "0.45";
    const db = await openDatabase(url);
    await db.query({ text: "DROP SCHEMA IF EXISTS other CASCADE", values: [] });
    const other = d.pgSchema("other");
    const mood = other.enum("mood", ["sad", "glad"]);
    // The newer line counts the brackets in one call.
    const matrix = isOlder ? d.integer().array().array() : brackets(d.integer());
    const samples = other.table("samples", {
      id: d.serial().primaryKey(),
      small: d.smallint().default(3),
      counted: d.bigint({ mode: "number" }).generatedAlwaysAsIdentity(),
      name: d.varchar({ length: 9 }).notNull().unique(),
      code: d.char({ length: 3 }),
      note: d.text(),
      price: d.numeric({ precision: 9, scale: 2 }),
      whole: d.numeric({ precision: 5 }),
      free: d.numeric(),
      half: d.real(),
      double: d.doublePrecision(),
      isOpen: d.boolean("is_open"),
      data: d.json(),
      more: d.jsonb(),
      at: d.timestamp({ withTimezone: true, precision: 3 }),
      local: d.timestamp(),
      day: d.date(),
      hour: d.time(),
      zoned: d.time({ withTimezone: true, precision: 2 }),
      span: d.interval(),
      key: d.uuid().default(sql`gen_random_uuid()`),
      mood: mood(),
      host: d.inet(),
      net: d.cidr(),
      mac: d.macaddr(),
      mac8: d.macaddr8(),
      place: d.point(),
      bits: d.bit({ dimensions: 3 }),
      tags: d.text().array(),
      moods: mood().array(),
      hosts: d.inet().array(),
      times: d.timestamp({ withTimezone: true, precision: 3 }).array(),
      matrix,
      loud: d.text().generatedAlwaysAs(sql`upper(note)`),
      scan: d.customType<{ data: Uint8Array }>({ dataType: () => "bytea" })(),
    });
    await createDrizzleTables(db, line, [samples]);
    const { tables } = await db.introspect({ schemas: ["other"] });
    const found = tables.find(({ name }) => name === "samples");
    assertEquals(described(tableInfoOf(samples)), described(found));
    await withService(
      { name: "postgres", open: () => Promise.resolve(db) },
      [],
      () => ({
        resources: [
          resource(samples, {
            id: samples.id,
            auth: { public: true, create: () => all(), update: () => all() },
          }),
        ],
      }),
      async ({ send, get }) => {
        const created = await send("POST", "/api/samples", values, { "x-user": "ada" });
        assertEquals([created.status, created.body], [201, {
          id: 1,
          counted: 1,
          small: 3,
          loud: "N",
          key: created.body.key,
          ...values,
        }]);
        for (const filter of filters) {
          const { status, body } = await get(`/api/samples/count?filter=${filter}`);
          assertEquals([filter, status, body], [filter, 200, { count: 1 }]);
        }
      },
    );
  }
});

const values = {
  name: "n",
  code: "abc",
  note: "n",
  price: "9.50",
  whole: "5",
  free: "0.10",
  half: 0.5,
  double: 0.1,
  isOpen: true,
  data: { a: 1 },
  more: [1],
  at: "2026-01-01T00:00:00.123Z",
  local: "2026-01-01T00:00:00.123456Z",
  day: "2026-01-01",
  hour: "10:00:00",
  zoned: "10:00:00+00",
  span: "1 day",
  mood: "glad",
  host: "10.0.0.9",
  net: "10.0.0.0/8",
  mac: "08:00:2b:01:02:03",
  mac8: "08:00:2b:01:02:03:04:05",
  place: "(1,2)",
  bits: "101",
  tags: ["a", null],
  moods: ["sad"],
  hosts: ["10.0.0.1"],
  times: ["2026-01-01T00:00:00.000Z"],
  matrix: [[1, 2], [3, 4]],
  scan: "AQI=",
};

const filters = [
  "price==9.5",
  "mood=gt=sad",
  "host=lt=10.0.0.10",
  "span=ge=24:00:00",
  "tags=has=a",
  "hosts=has=10.0.0.1",
  "local==2026-01-01T00:00:00.123456Z",
  "hour=gt=09:30",
  "bits==101",
  "code==abc",
];

/** A column of Drizzle 1.0 with two dimensions, which the types of 0.45 do not know. */
function brackets<C extends { array(size?: number): unknown }>(column: C) {
  const array = column.array as unknown as (this: C, dimensions: string) => C;
  return array.call(column, "[][]");
}

/** What the two have to say alike. */
function described(table: TableInfo | undefined) {
  return table?.columns.map(({ dbName, databaseType, ...column }) => ({
    ...column,
    // How a type or an expression is spelled depends on where it was read.
    ...{ existingType: null, generatedSql: null, default: defaultOf(column.default) },
    // Drizzle's mode "number" promises what int8 does not.
    isWide: false,
    name: dbName,
    databaseType: databaseType && {
      ...databaseType,
      sqlName: undefined,
      shape: databaseType.shape.kind === "list"
        ? [databaseType.shape.dimensions, databaseType.shape.element.kind]
        : databaseType.shape.kind,
    },
  }));
}

/** New rows omit a column whose constant introspection has read, so only the constant is equal. */
function defaultOf(given: TableInfo["columns"][number]["default"]): unknown {
  const constant = given === null || given.kind === "function" ? undefined : given.value;
  return constant ?? given?.kind;
}

testOnPostgres(
  "a numeric that Drizzle reads as a bigint takes whole numbers alone",
  async (url) => {
    for (const line of drizzleLines) {
      const { pg: d } = line;
      const db = await openDatabase(url);
      await db.query({ text: "DROP TABLE IF EXISTS counts", values: [] });
      const counts = d.pgTable("counts", {
        id: d.serial().primaryKey(),
        count: d.numeric({ mode: "bigint" }),
      });
      await createDrizzleTables(db, line, [counts]);
      await withService(
        { name: "postgres", open: () => Promise.resolve(db) },
        [],
        () => ({
          db,
          resources: [resource(counts, { id: counts.id, auth: { create: () => all() } })],
        }),
        async ({ send }) => {
          const post = (count: string) =>
            send("POST", "/api/counts", { count }, { "x-user": "ada" });
          assertEquals((await post("1.5")).status, 422);
          assertEquals((await post("12345678901234567890")).body.count, "12345678901234567890");
        },
      );
    }
  },
);
