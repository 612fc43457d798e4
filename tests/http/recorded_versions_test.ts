import { assertEquals, assertRejects } from "@std/assert";
import { all, type App, createApp, integer, resource, table, text } from "../../mod.ts";
import { systemRuntime } from "../../src/runtime/system_runtime.ts";
import { insertRows, type Service, testOnEngines, withService } from "../support/http.ts";
import { run } from "../support/scratch.ts";

const boards = table("boards", { id: text().primaryKey(), title: text() });
const cards = table("cards", {
  id: integer().primaryKey(),
  boardId: text().references(() => boards.id, { onDelete: "cascade" }).as("board_id"),
  title: text().unique(),
});
const anyone = { read: () => all(), create: () => all(), update: () => all(), delete: () => all() };
const ada = { "x-user": "ada" };
const history = {};

interface Version {
  readonly at: string | null;
  readonly user: string | null;
  readonly operation: string | null;
  readonly row: { readonly title: string } | null;
}

async function versionsOf({ get }: Pick<Service, "get">, path: string) {
  const { body } = await get(`${path}/history`, ada);
  const items: readonly Version[] = body.items;
  return items.map(({ user, operation, row }) => [user, operation, row?.title ?? null]);
}

async function count({ db }: Pick<Service, "db">) {
  return Number((await run(db, "SELECT count(*) FROM _service_history")).rows[0]?.[0]);
}

testOnEngines("only committed changes of rows make versions", async (engine) => {
  const resources = [
    resource(boards, { id: boards.id, auth: anyone, history }),
    resource(cards, { id: cards.id, auth: anyone, history }),
  ];
  await withService(engine, [boards, cards], () => ({ resources }), async (service) => {
    const { send, db, app } = service;
    await insertRows(db, boards, [{ id: "a", title: "A" }]);
    await insertRows(db, cards, [{ id: 1, boardId: "a", title: "x" }, { id: 2, title: "y" }]);
    assertEquals(await count(service), 3);
    // A refused write, a rolled back transaction and a write of the same values.
    assertEquals((await send("PATCH", "/api/cards/1", { title: "y" }, ada)).status, 409);
    await assertRejects(() =>
      app.as({ id: "ada" }).transaction(async ({ api }) => {
        await api.of(cards).update(1, { title: "z" });
        throw new Error("no");
      })
    );
    await run(db, "UPDATE cards SET title = title");
    assertEquals(await count(service), 3);
    // Changed keys, and rows that a foreign key deletes.
    await run(db, "UPDATE cards SET id = 3 WHERE id = 1");
    assertEquals(await versionsOf(service, "/api/cards/3"), [[null, null, "x"]]);
    await run(db, "UPDATE cards SET id = 1 WHERE id = 3");
    const moved = [[null, null, "x"], [null, null, null], [null, null, "x"]];
    assertEquals(await versionsOf(service, "/api/cards/1"), moved);
    assertEquals((await send("DELETE", "/api/boards/a", undefined, ada)).status, 204);
    await send("POST", "/api/cards", { id: 1, title: "again" }, ada);
    assertEquals(
      await versionsOf(service, "/api/cards/1"),
      [["ada", "create", "again"], ["ada", "delete", null], ...moved],
    );
  });
});

testOnEngines(
  "nested calls name their own operations, and hooks that of their request",
  async (engine) => {
    const resources = [
      resource(boards, {
        id: boards.id,
        auth: anyone,
        history,
        hooks: {
          onAfterUpdate: async ({ api, db }) => {
            await db.query({ text: "UPDATE cards SET title = 'by hook' WHERE id = 1", values: [] });
            await api.asSystem().of(cards).update(1, { title: "by system" });
            await db.query({
              text: "UPDATE cards SET title = 'by hook again' WHERE id = 1",
              values: [],
            });
            await api.of(cards).create({ id: 2, title: "by call" });
          },
        },
      }),
      resource(cards, { id: cards.id, auth: anyone, history }),
    ];
    await withService(engine, [boards, cards], () => ({ resources }), async (service) => {
      const { send, db, app } = service;
      await insertRows(db, boards, [{ id: "a", title: "A" }]);
      await insertRows(db, cards, [{ id: 1, title: "x" }]);
      const { status, body } = await send("PATCH", "/api/boards/a", { title: "B" }, ada);
      assertEquals(status, 200, JSON.stringify(body));
      assertEquals(await versionsOf(service, "/api/cards/1"), [
        ["ada", "update", "by hook again"],
        [null, "update", "by system"],
        ["ada", "update", "by hook"],
        [null, null, "x"],
      ]);
      assertEquals(await versionsOf(service, "/api/cards/2"), [["ada", "create", "by call"]]);
      await app.as({ id: "bob" }).transaction(async ({ api, db }) => {
        await api.of(cards).update(1, { title: "y" });
        await db.query({ text: "UPDATE cards SET title = 'z' WHERE id = 1", values: [] });
      });
      const [last, before] = await versionsOf(service, "/api/cards/1");
      assertEquals([last, before], [[null, null, "z"], ["bob", "update", "y"]]);
      await run(db, "UPDATE cards SET title = 'other program' WHERE id = 1");
      assertEquals((await versionsOf(service, "/api/cards/1"))[0], [null, null, "other program"]);
    });
  },
);

testOnEngines("without triggers, the writes of the service make versions", async (engine) => {
  const resources = [
    resource(boards, { id: boards.id, auth: anyone, history }),
    resource(cards, { id: cards.id, auth: anyone, history }),
  ];
  const changes = { mode: "service" } as const;
  await withService(engine, [boards, cards], () => ({ resources, changes }), async (service) => {
    const { send } = service;
    await send("POST", "/api/boards", { id: "a", title: "A" }, ada);
    await send("PATCH", "/api/boards/a", { title: "B" }, ada);
    await send("PATCH", "/api/boards/batch", { filter: "id==a", patch: { title: "C" } }, ada);
    assertEquals(await versionsOf(service, "/api/boards/a"), [
      ["ada", "batch-update", "C"],
      ["ada", "update", "B"],
      ["ada", "create", "A"],
    ]);
  });
});

testOnEngines("versions end with their retention", async (engine) => {
  let now = Date.now();
  const runtime = systemRuntime(() => {});
  const config = {
    resources: [
      resource(boards, { id: boards.id, auth: anyone, history: { retentionMs: 3_600_000 } }),
    ],
    runtime: { ...runtime, clock: { ...runtime.clock, now: () => now }, cron: undefined },
  };
  await withService(engine, [boards], () => config, async (service) => {
    const { db, app, get } = service;
    await insertRows(db, boards, [{ id: "a", title: "0" }, { id: "b", title: "0" }]);
    for (const title of [1, 2, 3]) await run(db, `UPDATE boards SET title = '${title}'`);
    await run(db, "DELETE FROM boards WHERE id = 'b'");
    await app.upkeep();
    assertEquals(await count(service), 9);
    await run(db, "UPDATE _service_history SET at = at - 3700000");
    await run(db, "UPDATE boards SET title = '4'");
    await app.upkeep();
    // The oldest remaining version could be a change of hidden values, so it has no time.
    assertEquals(await count(service), 1);
    const { body } = await get("/api/boards/a/history", ada);
    assertEquals(body.items.map((one: Record<string, unknown>) => one.at), [null]);
    assertEquals(await versionsOf(service, "/api/boards/a"), [[null, null, "4"]]);
    now += 7_200_000;
    await app.upkeep();
    assertEquals(await count(service), 0);
    assertEquals(await versionsOf(service, "/api/boards/a"), [[null, null, "4"]]);
    // A change first stores the state that it has found.
    await run(db, "UPDATE boards SET title = '5'");
    assertEquals(await versionsOf(service, "/api/boards/a"), [[null, null, "5"], [
      null,
      null,
      "4",
    ]]);
    await run(db, "INSERT INTO boards (id, title) VALUES ('many', '0')");
    await db.transaction(async (tx) => {
      for (let change = 1; change < 2_500; change++) {
        await tx.query({
          text: "UPDATE boards SET title = title || 1 WHERE id = 'many'",
          values: [],
        });
      }
    });
    now += 7_200_000;
    await app.upkeep();
    assertEquals(await count(service), 0);
    assertEquals(await versionsOf(service, "/api/boards/many"), [[
      null,
      null,
      `0${"1".repeat(2_499)}`,
    ]]);
  });
});

testOnEngines(
  "columns that are added, dropped or never recorded do not prevent a revert",
  async (engine) => {
    const before = table("boards", {
      id: text().primaryKey(),
      title: text(),
      dropped: text(),
      secret: text(),
    });
    const after = table("boards", {
      id: text().primaryKey(),
      title: text(),
      secret: text(),
      added: text().notNull().default("new"),
    });
    const db = await engine.open();
    const apps: App[] = [];
    // deno-lint-ignore no-explicit-any -- the types of the two tables differ
    const open = async (of: any) => {
      const app = await createApp({
        db,
        secret: "a secret for the tests only",
        resources: [resource(of, { id: of.id, auth: { ...anyone, public: true }, history })],
        changes: { exclude: [of.secret] },
        auth: { middleware: (context, next) => (context.set("user", { id: "ada" }), next()) },
        runtime: { ...systemRuntime(() => {}), cron: undefined },
      });
      const send = async (method: string, path: string, body?: unknown) => {
        const headers = { "content-type": "application/json" };
        const init = body === undefined ? {} : { body: JSON.stringify(body), headers };
        const response = await app.fetch(
          new Request(`http://test/api/boards${path}`, { method, ...init }),
        );
        return await response.json();
      };
      apps.push(app);
      return { send };
    };
    try {
      await db.createTables([before]);
      const { send } = await open(before);
      await send("POST", "", { id: "a", title: "1", dropped: "d", secret: "s" });
      await send("PATCH", "/a", { title: "2", secret: "t" });
      await db.migrate([after], { allowDrop: ["boards.dropped"] });
      const { send: call } = await open(after);
      await call("PATCH", "/a", { title: "3", added: "changed" });
      const { items } = await call("GET", "/a/history");
      assertEquals(items.map(({ row }: Version) => row), [
        { id: "a", title: "3", added: "changed" },
        { id: "a", title: "2", added: "new" },
        { id: "a", title: "2" },
        { id: "a", title: "1" },
      ]);
      const { version } = items.at(-1);
      const row = await call("POST", "/a/revert", { version });
      assertEquals(row, { id: "a", title: "1", secret: "t", added: "changed" });
    } finally {
      for (const app of apps) await app.close();
    }
  },
);

testOnEngines("no write fails because of the text of a document or of a key", async (engine) => {
  const db = await engine.open();
  const isPostgres = db.dialect.engine === "postgres";
  await run(
    db,
    `CREATE TABLE documents (id text PRIMARY KEY, body ${isPostgres ? "json" : "text"})`,
  );
  const { tables: [documents] } = await db.introspect();
  const app = await createApp({
    db,
    secret: "a secret for the tests only",
    changes: { mode: "triggers" },
    resources: [resource(documents!, { id: "id", auth: anyone, history })],
    auth: { middleware: (context, next) => (context.set("user", { id: "ada" }), next()) },
    runtime: { ...systemRuntime(() => {}), cron: undefined },
  });
  try {
    const long = "\\u".repeat(1_000);
    const bodies = ['{"a":"\\u0000"}', '["\\ud800"]', '"\\\\u0000"', "{}"];
    for (const id of ["\\u0000", "\\u0001", long, `${long}a`]) {
      await run(db, `INSERT INTO documents VALUES ('${id}', '[]')`);
      for (const body of bodies) {
        await run(db, `UPDATE documents SET body = '${body}' WHERE id = '${id}'`);
      }
    }
    for (const id of ["\\u0000", "\\u0001", long, `${long}a`]) {
      const path = `http://test/api/documents/${encodeURIComponent(id)}/history`;
      const { items } = await (await app.fetch(new Request(path))).json();
      assertEquals(items.length, 1 + bodies.length, id.slice(0, 9));
    }
  } finally {
    await app.close();
  }
});
