import { assert, assertEquals, assertRejects } from "@std/assert";
import { checkTables } from "../../src/db/tables/check_tables.ts";
import { DatabaseError } from "../../src/db/database_error.ts";
import type { Driver } from "../../src/db/driver.ts";
import { openDatabase } from "../../src/engines/open_database.ts";
import type { Observation } from "../../src/runtime/runtime.ts";
import { integer, text, timestamp } from "../../src/schema/column_builder.ts";
import { table } from "../../src/schema/table.ts";
import { tableInfoOf } from "../../src/schema/table_like.ts";
import { drizzleLines } from "../support/drizzle_schema.ts";
import { everyEngine } from "../support/engines.ts";
import { testOnPostgres } from "../support/postgres_tests.ts";
import { testUnless } from "../support/skip.ts";

const notes = table("notes", { id: integer().primaryKey(), remindAt: timestamp() });
const grown = table("notes", { id: integer().primaryKey(), remindAt: timestamp(), title: text() });
const gone = table("gone", { id: integer().primaryKey() });

for (const { name, open, ignore } of everyEngine) {
  testUnless(
    ignore ?? null,
    `${name}: a table or a column that is not there ends the start in words that say what to call`,
    async () => {
      const db = await open();
      await db.createTables([notes]);
      const check = (other: typeof notes | typeof gone) =>
        checkTables(
          [notes, other].map((one) => ({ table: tableInfoOf(one), driver: db.driver })),
          (observation) => assertEquals(observation, null),
        );
      await check(notes);
      for (
        const [absent, called, says] of [
          [gone, "gone", "gone is missing"],
          [grown, "notes", "notes.title is missing"],
        ] as const
      ) {
        const error = await assertRejects(() => check(absent), Error);
        assertEquals(
          error.message,
          `Cannot serve "${called}": ${says}: run \`deno run -A cli.ts migrate\`, or call db.migrate([${called}])`,
        );
      }
      await db.close();
    },
  );
}

for (const { name, open, ignore } of everyEngine) {
  testUnless(
    ignore ?? null,
    `${name}: what is missing of a table of Drizzle is named at the start`,
    async () => {
      const db = await open();
      await db.createTables([notes]);
      await db.query({ text: "ALTER TABLE notes ADD COLUMN shelf_mark text", values: [] });
      for (const { sqlite, pg } of drizzleLines) {
        const [make, d] = db.dialect.engine === "sqlite"
          ? [sqlite.sqliteTable, sqlite] as const
          // Tables of both have what is read here.
          : [pg.pgTable as unknown as typeof sqlite.sqliteTable, pg as unknown as typeof sqlite];
        const found = make("notes", {
          id: d.integer().primaryKey(),
          title: d.text(),
          isListed: d.integer("is_listed"),
        });
        const lost = make("lost", { id: d.integer().primaryKey() });
        const served = [notes, found, lost].map((one) => ({
          table: tableInfoOf(one),
          driver: db.driver,
        }));
        const check = () => checkTables(served, () => assert(false));
        await assertRejects(
          check,
          Error,
          'Cannot serve "notes", "lost": notes.title is missing; notes.is_listed is missing; ' +
            "lost is missing: run the migrations of Drizzle, by drizzle-kit",
        );
        const cased = make("notes", { id: d.integer().primaryKey(), shelfMark: d.text() });
        await assertRejects(
          () =>
            checkTables([{ table: tableInfoOf(cased), driver: db.driver }], () => assert(false)),
          Error,
          'Cannot serve "notes": notes.shelfMark is missing, but notes.shelf_mark exists: with ' +
            "drizzle(client, { casing }), pass this Drizzle database as `db`, or call " +
            "nameColumns(tables, toSnakeCase)",
        );
      }
      await db.close();
    },
  );
}

testOnPostgres(
  "what is missing of a table that was introspected is named at the start",
  async (url) => {
    const db = await openDatabase(url);
    await db.createTables([grown]);
    const { tables: [found] } = await db.introspect();
    assert(found !== undefined);
    await db.query({ text: "ALTER TABLE notes DROP COLUMN title", values: [] });
    const check = () => checkTables([{ table: found, driver: db.driver }], () => assert(false));
    const error = await assertRejects(check, Error);
    assertEquals(error.message, 'Cannot serve "notes": notes.title is missing');
    await db.close();
  },
);

Deno.test("a database that cannot be reached at the start is observed once, and not checked", async () => {
  const db = await openDatabase("sqlite::memory:");
  let asked = 0;
  const driver: Driver = {
    ...db.driver,
    dialect: db.dialect,
    label: "a database that sleeps",
    query() {
      asked++;
      return Promise.reject(new DatabaseError("unavailable", new Error("no connection")));
    },
  };
  const observations: Observation[] = [];
  const served = [notes, gone].map((one) => ({ table: tableInfoOf(one), driver }));
  await checkTables(served, (observation) => observations.push(observation));
  assertEquals(asked, 1);
  assertEquals(observations, [{
    kind: "notice",
    message: "the tables of a database that sleeps could not be looked at: no connection",
  }]);
  await db.close();
});

Deno.test("an error that is none of the database is passed on", async () => {
  const db = await openDatabase("sqlite::memory:");
  const driver: Driver = {
    ...db.driver,
    dialect: db.dialect,
    label: "",
    query: () => Promise.reject(new TypeError("a fault of ours")),
  };
  const check = () => checkTables([{ table: tableInfoOf(notes), driver }], () => assert(false));
  await assertRejects(check, TypeError, "a fault of ours");
  await db.close();
});

testOnPostgres(
  "a view that refers to itself does not stop the check of other tables",
  async (url) => {
    const db = await openDatabase(url);
    const run = (text: string) => db.driver.query({ text, values: [] });
    await run("CREATE VIEW a AS SELECT 1 AS id");
    await run("CREATE VIEW b AS SELECT id FROM a");
    await run("CREATE OR REPLACE VIEW a AS SELECT id FROM b");
    const circular = tableInfoOf(table("a", { id: integer().primaryKey() }));
    const observed: Observation[] = [];
    const error = await assertRejects(
      () =>
        checkTables(
          [circular, tableInfoOf(gone)].map((one) => ({ table: one, driver: db.driver })),
          (observation) => observed.push(observation),
        ),
      Error,
    );
    assertEquals(error.message.startsWith('Cannot serve "gone": gone is missing'), true);
    assertEquals(observed.map((one) => one.kind === "notice" && one.message.split(" of ")[0]), [
      '"a"',
    ]);
    await db.close();
  },
);
