import { assertEquals, assertRejects } from "@std/assert";
import { all, createApp, openDatabase, resource } from "../../mod.ts";
import { createDrizzleTables, drizzleLines } from "../support/drizzle_schema.ts";
import { testOnDialects, withService } from "../support/http.ts";
import {
  declaredTables,
  drive,
  postgresTables,
  serviceOf,
  sqliteTables,
  type Step,
} from "./drizzle_drive.ts";

testOnDialects("tables of both lines of Drizzle answer as those of table()", async (engine) => {
  let expected: readonly Step[] = [];
  await withService(
    engine,
    Object.values(declaredTables),
    () => serviceOf(declaredTables),
    async (service) => {
      expected = await drive(service);
    },
  );
  for (const line of drizzleLines) {
    const tables = engine.name === "postgres" ? postgresTables(line) : sqliteTables(line);
    const openEmpty = async () => {
      const db = await engine.open();
      await createDrizzleTables(db, line, Object.values(tables));
      return db;
    };
    await withService(
      { ...engine, open: openEmpty },
      [],
      () => serviceOf(tables),
      async (service) => {
        const steps = await drive(service);
        steps.forEach((step, index) => assertEquals(step, expected[index]));
        assertEquals(steps.length, expected.length);
      },
    );
  }
});

Deno.test("what $onUpdate of Drizzle gives is set by updates that set nothing", async () => {
  for (const line of drizzleLines) {
    const { sqlite: d } = line;
    const notes = d.sqliteTable("notes", {
      id: d.integer().primaryKey(),
      title: d.text(),
      changes: d.integer().$onUpdate(() => 7),
      at: d.integer({ mode: "timestamp" }).$onUpdate(() => new Date("2001-02-03T04:05:06.789Z")),
    });
    await withService(
      {
        name: "sqlite",
        open: async () => {
          const db = await openDatabase("sqlite::memory:");
          await createDrizzleTables(db, line, [notes]);
          return db;
        },
      },
      [],
      () => ({
        resources: [
          resource(notes, {
            id: notes.id,
            auth: { public: true, create: () => all(), update: () => all() },
          }),
        ],
      }),
      async ({ send }) => {
        const ada = { "x-user": "ada" };
        const made = { changes: 7, at: "2001-02-03T04:05:06.000Z" };
        const created = await send("POST", "/api/notes", { title: "a", changes: 1 }, ada);
        assertEquals(created.body, { ...made, id: 1, title: "a", changes: 1 });
        const patched = await send("PATCH", "/api/notes/1", { title: "b" }, ada);
        assertEquals(patched.body, { ...made, id: 1, title: "b" });
        const body = { filter: "id==1", patch: { at: "2002-01-01T00:00:00Z", changes: null } };
        assertEquals((await send("PATCH", "/api/notes/batch", body, ada)).body, { count: 1 });
        const again = await send("PATCH", "/api/notes/1", { changes: null }, ada);
        assertEquals(again.body, { ...made, id: 1, title: "b", changes: null });
        assertEquals((await send("GET", "/api/notes?include=none", undefined, ada)).status, 400);
      },
    );
  }
});

Deno.test("a table that Drizzle declares for Postgres is not served from SQLite", async () => {
  const db = await openDatabase("sqlite::memory:");
  for (const line of drizzleLines) {
    const notes = line.pg.pgTable("notes", { id: line.pg.serial().primaryKey() });
    await assertRejects(
      () =>
        createApp({
          db,
          secret: "a secret for the tests only",
          resources: [resource(notes, { id: notes.id, auth: { public: { read: true } } })],
        }),
      Error,
      'Cannot serve "notes" from :memory: (better-sqlite3): Drizzle declares it for postgres',
    );
  }
  await db.close();
});
