import { assertEquals, assertRejects } from "@std/assert";
import { createApp } from "../../src/app/app.ts";
import { resolveChangesOptions } from "../../src/db/changes/changes_options.ts";
import { openRecordingDriver } from "../../src/db/changes/open_change_log.ts";
import { all } from "../../src/filter/builders.ts";
import { resource } from "../../src/resource/define/resource_definition.ts";
import { integer, text, timestamp } from "../../src/schema/column_builder.ts";
import { table } from "../../src/schema/table.ts";
import { tableInfoOf } from "../../src/schema/table_like.ts";
import {
  changesOf,
  kindsAndRows,
  openLog,
  readOn,
  runtime,
} from "../conformance/change_log_support.ts";
import { engines } from "../support/engines.ts";
import { testOnEngines } from "../support/http.ts";
import { runScript } from "../support/scratch.ts";
import { testUnless } from "../support/skip.ts";
import type { Database } from "../../src/db/database.ts";

const notes = table("notes", {
  id: integer().primaryKey(),
  title: text().notNull().as("the_title"),
  version: integer().notNull().default(1),
  gone: timestamp(),
});

const remarks = table("remarks", { id: integer().primaryKey(), about: text() });

for (const mode of ["service", "triggers"] as const) {
  testOnEngines(`every operation is recorded row by row, by ${mode}`, async (engine) => {
    const db = await engine.open();
    await db.createTables([notes]);
    const recorded = await recording(db, mode);
    const log = await openLog(db, [notes], { mode });
    const send = await serving(recorded);
    const from = await log.end();
    await send("POST", "", { id: 1, title: "a" }, 201);
    await send("POST", "/batch", { items: [{ id: 2, title: "b" }, { id: 3, title: "c" }] }, 201);
    await send("PATCH", "/1", { title: "A" }, 200);
    await send("PUT", "/2", { title: "B" }, 200);
    await send(
      "POST",
      "/batch/upsert",
      { items: [{ id: 3, title: "C" }, { id: 4, title: "d" }] },
      200,
    );
    await send("PATCH", "/batch", { filter: "id>=3", patch: { title: "both" } }, 200);
    await send("PUT", "/batch", { items: [{ id: 3, title: "third" }] }, 200);
    await send("DELETE", "/4", undefined, 204);
    await send("POST", "/4/restore", undefined, 200);
    await send("DELETE", "/batch", { filter: "id<=2" }, 200);
    await send("POST", "", { id: 1, title: "twice" }, 409);
    const { changes } = await readOn(log, from);
    assertEquals(changes.map(({ kind, before, after }) => [kind, before?.id ?? after?.id]), [
      ...[["insert", 1], ["insert", 2], ["insert", 3], ["update", 1], ["update", 2]],
      ...[["insert", 4], ["update", 3], ["update", 3], ["update", 4], ["update", 3]],
      ...[["update", 4], ["update", 4], ["update", 1], ["update", 2]],
    ]);
    // Each image before a change is the one after the last change of the row; the last is stored.
    const rows = new Map<unknown, unknown>();
    for (const { before, after } of changes) {
      assertEquals(before, rows.get(before?.id) ?? null);
      rows.set(after?.id, after);
    }
    const listed = await send("GET", "?withDeleted=true", undefined, 200);
    assertEquals([...rows.values()].toSorted(byId), listed.items);
    await log.close();
    await db.close();
  });
}

testOnEngines(
  "a statement without a plan is recorded as a touch or as its changes",
  async (engine) => {
    const db = await engine.open();
    await db.createTables([notes]);
    const { driver } = await recording(db, "service");
    const log = await openLog(db, [notes], { mode: "service" });
    const isTouch = db.dialect.engine === "postgres";
    const insert = { text: "INSERT INTO notes (id, the_title) VALUES (1, 'a')", values: [] };
    const row = { id: 1, title: "a", version: 1, gone: null };
    assertEquals(kindsAndRows(await changesOf(log, async () => await driver.query(insert))), [
      isTouch ? ["touch", null, null] : ["insert", null, row],
    ]);
    const undone = () =>
      driver.transaction(async (connection) => {
        await connection.query({ text: "DELETE FROM notes", values: [] });
        throw new Error("undone");
      });
    assertEquals(await changesOf(log, () => assertRejects(undone)), []);
    assertEquals(
      await changesOf(log, async () => await driver.query({ text: "SELECT 1", values: [] })),
      [],
    );
    await log.close();
    await db.close();
  },
);

testOnEngines(
  "a write that only mentions a recorded table is no touch of it",
  async (engine) => {
    const db = await engine.open();
    await db.createTables([notes, remarks]);
    const { driver } = await recording(db, "service");
    const log = await openLog(db, [notes], { mode: "service" });
    const insert = "INSERT INTO remarks (id, about) SELECT 1 + count(*), 'notes' FROM notes";
    const within = `WITH counted AS (SELECT 2 + count(*) AS id FROM notes) ${
      insert.replace("1 + count(*)", "id").replace("FROM notes", "FROM counted")
    }`;
    const rewrite = "WITH all_of_them AS (SELECT id FROM notes) SELECT count(*) FROM all_of_them";
    for (const text of [insert, within, rewrite]) {
      assertEquals(await changesOf(log, async () => await driver.query({ text, values: [] })), []);
    }
    await log.close();
    await db.close();
  },
);

for (const engine of engines.filter(({ name }) => name === "postgres" || name === "pglite")) {
  testUnless(
    engine.ignore ?? null,
    `a write without a plan inside WITH, to a view or by TRUNCATE is a touch (${engine.name})`,
    async () => {
      const db = await engine.open();
      await db.createTables([notes]);
      await runScript(db.driver, "CREATE VIEW shown AS SELECT id, the_title FROM notes");
      const { driver } = await recording(db, "service");
      const log = await openLog(db, [notes], { mode: "service" });
      const inWith =
        "WITH w AS (INSERT INTO notes (id, the_title) VALUES ($1, 'a') RETURNING id) SELECT * FROM w";
      const statements = [
        { text: inWith, values: [1] },
        { text: inWith, values: [2] },
        { text: "DELETE FROM shown WHERE id = $1", values: [1] },
        { text: "TRUNCATE notes", values: [] },
      ];
      for (const statement of statements) {
        const changes = await changesOf(log, async () => await driver.query(statement));
        assertEquals(kindsAndRows(changes), [["touch", null, null]], statement.text);
      }
      await log.close();
      await db.close();
    },
  );
}

testOnEngines("a write that begins with a comment was not recorded", async (engine) => {
  const db = await engine.open();
  await db.createTables([notes]);
  const { driver } = await recording(db, "service");
  const log = await openLog(db, [notes], { mode: "service" });
  const insert = "INSERT INTO notes (id, the_title) VALUES";
  const texts = [
    `-- by hand\n${insert} (1, 'a')`,
    `/* by\n * hand */ ${insert} (2, 'a')`,
    `\n -- twice\n /* so */ ${insert} (3, 'a')`,
  ];
  for (const text of texts) {
    const changes = await changesOf(log, async () => await driver.query({ text, values: [] }));
    assertEquals(changes.length, 1, text);
  }
  await log.close();
  await db.close();
});

testOnEngines("a table that triggers record is not recorded twice", async (engine) => {
  const db = await engine.open();
  await db.createTables([notes]);
  await (await openLog(db, [notes])).close();
  const send = await serving(await recording(db, "service"));
  const log = await openLog(db, [notes], { mode: "service" });
  const changes = await changesOf(log, () => send("POST", "", { id: 1, title: "a" }, 201));
  assertEquals(changes.map(({ kind }) => kind), ["insert"]);
  await log.close();
  await db.close();
});

/** The database with the driver that records. */
async function recording(db: Database, mode: "service" | "triggers"): Promise<Database> {
  const driver = await openRecordingDriver({
    driver: db.driver,
    tables: [tableInfoOf(notes)],
    changes: resolveChangesOptions({ mode }),
    random: runtime.random,
  });
  return { ...db, driver };
}

type Send = (
  method: string,
  path: string,
  body: unknown,
  status: number,
) => Promise<{ readonly items?: readonly unknown[] }>;

async function serving(db: Database): Promise<Send> {
  const right = () => all();
  const app = await createApp({
    db,
    secret: "a secret for the tests only",
    auth: {
      middleware: async (context, next) => {
        context.set("user", { id: "somebody" });
        await next();
      },
    },
    resources: [
      resource(notes, {
        id: notes.id,
        auth: { public: { read: true }, create: right, update: right, delete: right },
        etag: { versionField: notes.version },
        softDelete: { field: notes.gone },
      }),
    ],
  });
  return async (method, path, body, status) => {
    const answer = await app.fetch(
      new Request(`http://test/api/notes${path}`, {
        method,
        headers: body === undefined ? {} : { "content-type": "application/json" },
        body: body === undefined ? null : JSON.stringify(body),
      }),
    );
    const text = await answer.text();
    assertEquals([answer.status, method, path], [status, method, path], text);
    return text === "" ? {} : JSON.parse(text);
  };
}

function byId(left: unknown, right: unknown): number {
  return Object(left).id - Object(right).id;
}
