/** Attempts to read, forge or lose versions of rows, by means that a stranger has. */
import { assertEquals } from "@std/assert";
import {
  all,
  createApp,
  eq,
  integer,
  ne,
  resource,
  table,
  text,
  timestamp,
  type User,
} from "../../mod.ts";
import { systemRuntime } from "../../src/runtime/system_runtime.ts";
import { block } from "../documents/blocks.ts";
import { hiddenMark, type Service, testOnEngines, withService } from "../support/http.ts";
import { run } from "../support/scratch.ts";

const notes = table("notes", {
  id: integer().primaryKey(),
  ownerId: text().notNull().as("owner_id"),
  title: text().unique(),
  secret: text(),
  version: integer().notNull().default(1),
});
const parts = table("parts", {
  id: integer().primaryKey(),
  noteId: integer().notNull().references(() => notes.id).as("note_id"),
  name: text(),
});
const anyone = { read: () => all(), create: () => all(), update: () => all(), delete: () => all() };
const own = (user: User) => eq(notes.ownerId, user.id);
const history = {};
const ada = { "x-user": "ada" };
const bob = { "x-user": "bob" };

/** The versions of a row, without their ids and times, or the status of a failure. */
async function versionsOf({ get }: Pick<Service, "get">, path: string, headers = ada) {
  const { status, body } = await get(`${path}/history`, headers);
  if (status !== 200) return status;
  // deno-lint-ignore no-explicit-any -- a test says what it expects by asserting it
  return body.items.map(({ user, operation, row }: any) => [user, operation, row]);
}

testOnEngines("a caller sees no field that the caller cannot read now", async (engine) => {
  const resources = [
    resource(notes, {
      id: notes.id,
      auth: anyone,
      fields: {
        readable: {
          all: [notes.id, notes.title, notes.secret],
          by: (user) =>
            user?.id === "ada" ? [notes.id, notes.title, notes.secret] : [notes.id, notes.title],
        },
      },
      history,
    }),
  ];
  await withService(engine, [notes], () => ({ resources }), async (service) => {
    const { send } = service;
    await send("POST", "/api/notes", { id: 1, ownerId: "ada", title: "a", secret: "s1" }, ada);
    await send("PATCH", "/api/notes/1", { secret: "s2" }, ada);
    assertEquals(await versionsOf(service, "/api/notes/1"), [
      ["ada", "update", { id: 1, title: "a", secret: "s2" }],
      ["ada", "create", { id: 1, title: "a", secret: "s1" }],
    ]);
    assertEquals(await versionsOf(service, "/api/notes/1", bob), [
      ["ada", "create", { id: 1, title: "a" }],
    ]);
    // A version of ada's view has no value that bob could restore without seeing it.
    const { body } = await service.get("/api/notes/1/history", ada);
    const version = body.items[1].version;
    assertEquals((await send("POST", "/api/notes/1/revert", { version }, bob)).status, 200);
    assertEquals((await service.get("/api/notes/1", ada)).body.secret, "s2");
  });
});

testOnEngines("a new owner of a key learns nothing of the deleted row", async (engine) => {
  const resources = [
    resource(notes, { id: notes.id, auth: { ...anyone, read: own }, history }),
  ];
  await withService(engine, [notes], () => ({ resources }), async (service) => {
    const { send } = service;
    const mine = { id: 1, ownerId: "ada", title: `${hiddenMark}a` };
    await run(
      service.db,
      `INSERT INTO notes (id, owner_id, title) VALUES (1, 'ada', '${mine.title}')`,
    );
    await run(service.db, `UPDATE notes SET title = '${mine.title}2'`);
    await run(service.db, "DELETE FROM notes");
    assertEquals(
      (await send("POST", "/api/notes", { id: 1, ownerId: "bob", title: "b" }, bob)).status,
      201,
    );
    const row = { id: 1, ownerId: "bob", title: "b", secret: null, version: 1 };
    assertEquals(await versionsOf(service, "/api/notes/1", bob), [["bob", "create", row]]);
    assertEquals(await versionsOf(service, "/api/notes/1", ada), 404);
  });
});

testOnEngines("versions of soft-deleted rows are not visible", async (engine) => {
  const docs = table("docs", { id: integer().primaryKey(), title: text(), goneAt: timestamp() });
  const resources = [
    resource(docs, { id: docs.id, auth: anyone, softDelete: { field: docs.goneAt }, history }),
  ];
  await withService(engine, [docs], () => ({ resources }), async (service) => {
    const { send } = service;
    await send("POST", "/api/docs", { id: 1, title: "a" }, ada);
    await send("DELETE", "/api/docs/1", undefined, bob);
    assertEquals(await versionsOf(service, "/api/docs/1"), 404);
    await run(service.db, `UPDATE docs SET title = '${hiddenMark}'`);
    await run(service.db, "UPDATE docs SET title = 'c'");
    await send("POST", "/api/docs/1/restore", {}, bob);
    assertEquals(await versionsOf(service, "/api/docs/1"), [
      ["bob", "restore", { id: 1, title: "c", goneAt: null }],
      ["ada", "create", { id: 1, title: "a", goneAt: null }],
    ]);
  });
});

testOnEngines("a failed call that a hook catches does not change who wrote", async (engine) => {
  const resources = [
    resource(notes, {
      id: notes.id,
      auth: anyone,
      history,
      hooks: {
        onAfterUpdate: async ({ api, db }) => {
          await api.asSystem().of(notes).create({ id: 2, ownerId: "x", title: "taken" })
            .catch(() => {});
          await api.asSystem().of(notes).update(99, { title: "y" }).catch(() => {});
          await db.query({ text: "UPDATE notes SET secret = 'by hook' WHERE id = 1", values: [] });
        },
      },
    }),
  ];
  await withService(engine, [notes], () => ({ resources }), async (service) => {
    const { send, db } = service;
    await run(
      db,
      "INSERT INTO notes (id, owner_id, title) VALUES (1, 'ada', 'a'), (3, 'x', 'taken')",
    );
    assertEquals((await send("PATCH", "/api/notes/1", { title: "b" }, bob)).status, 200);
    const [first, second] = await versionsOf(service, "/api/notes/1");
    assertEquals([first[0], first[1], second[0], second[1]], ["bob", "update", "bob", "update"]);
    await run(db, "UPDATE notes SET secret = 'other program' WHERE id = 1");
    assertEquals((await versionsOf(service, "/api/notes/1"))[0].slice(0, 2), [null, null]);
    // Later writes of others do not have the user of a refused write.
    assertEquals((await send("PATCH", "/api/notes/1", { title: "taken" }, bob)).status, 409);
    await run(db, "UPDATE notes SET secret = 'again' WHERE id = 1");
    assertEquals((await versionsOf(service, "/api/notes/1"))[0].slice(0, 2), [null, null]);
  });
});

testOnEngines("rows of a nested write have the user of the request", async (engine) => {
  const resources = [
    resource(notes, {
      id: notes.id,
      auth: anyone,
      history,
      nestedWrites: true,
      relations: { parts: { type: "hasMany", resource: parts, foreignKey: parts.noteId } },
    }),
    resource(parts, { id: parts.id, auth: anyone, history }),
  ];
  await withService(engine, [notes, parts], () => ({ resources }), async (service) => {
    const { status, body } = await service.send("POST", "/api/notes", {
      ...{ id: 1, ownerId: "ada", title: "a" },
      parts: { create: [{ id: 5, name: "wheel" }] },
    }, ada);
    assertEquals(status, 201, JSON.stringify(body));
    assertEquals(await versionsOf(service, "/api/parts/5"), [
      ["ada", "create", { id: 5, noteId: 1, name: "wheel" }],
    ]);
  });
});

testOnEngines("a revert fails as a PATCH would", async (engine) => {
  const resources = [
    resource(notes, {
      id: notes.id,
      auth: { ...anyone, update: () => ne(notes.title, "frozen") },
      etag: { versionField: notes.version },
      history,
    }),
  ];
  await withService(engine, [notes], () => ({ resources }), async (service) => {
    const { send, get } = service;
    await send("POST", "/api/notes", { id: 1, ownerId: "ada", title: "unique" }, ada);
    const { headers } = await get("/api/notes/1", ada);
    const stale = headers.get("etag") ?? "";
    await send("PATCH", "/api/notes/1", { title: "other" }, ada);
    await send("POST", "/api/notes", { id: 2, ownerId: "ada", title: "unique" }, ada);
    const { body } = await get("/api/notes/1/history", ada);
    const { version } = body.items[1];
    const revert = async (path: string, more = {}) =>
      (await send("POST", `/api/notes/${path}/revert`, { version }, { ...ada, ...more })).status;
    assertEquals(await revert("1"), 409);
    assertEquals(await revert("1", { "if-match": stale }), 412);
    // The id of a version belongs to one row.
    assertEquals(await revert("2"), 422);
    await send("PATCH", "/api/notes/2", { title: "free" }, ada);
    assertEquals(await revert("1"), 200);
    const key = { "idempotency-key": "k1" };
    assertEquals([await revert("1", key), await revert("1", key)].includes(500), false);
    await run(service.db, "UPDATE notes SET title = 'frozen' WHERE id = 1");
    assertEquals([403, 404].includes(await revert("1")), true);
    for (const wrong of [{}, { version: 1 }, { version: "" }, { version: "x".repeat(9_999) }]) {
      const { status } = await send("POST", "/api/notes/1/revert", wrong, ada);
      assertEquals(status, 422, JSON.stringify(wrong));
    }
    for (const query of ["?limit=0", "?limit=-1", "?limit=x", "?cursor=x", "?cursor="]) {
      const { status } = await get(`/api/notes/1/history${query}`, ada);
      assertEquals(status, 400, query);
    }
  });
});

testOnEngines(
  "a version has the values of generated columns",
  async (engine) => {
    const words = table("words", {
      id: integer().primaryKey(),
      word: text().notNull(),
      long: text().generatedAs("upper(word)"),
    });
    const resources = [resource(words, { id: words.id, auth: anyone, history })];
    await withService(engine, [words], () => ({ resources }), async (service) => {
      const { send } = service;
      await send("POST", "/api/words", { id: 1, word: "a" }, ada);
      await send("PATCH", "/api/words/1", { word: "b" }, ada);
      assertEquals(await versionsOf(service, "/api/words/1"), [
        ["ada", "update", { id: 1, word: "b", long: "B" }],
        ["ada", "create", { id: 1, word: "a", long: "A" }],
      ]);
    });
  },
);

testOnEngines(
  "the statements of docs/contracts/history.md erase the versions of a row",
  async (engine) => {
    const resources = [resource(notes, { id: notes.id, auth: anyone, history })];
    await withService(engine, [notes], () => ({ resources }), async (service) => {
      const { db, send } = service;
      for (const id of [1, 2]) {
        await send("POST", "/api/notes", { id, ownerId: "ada", title: `a${id}` }, ada);
        await send("PATCH", `/api/notes/${id}`, { title: `b${id}` }, ada);
      }
      const statements = {
        sqlite: block(
          "docs/contracts/history.md",
          `DELETE FROM _service_history WHERE "table" = 'notes`,
        ),
        postgres: block(
          "docs/contracts/history.md",
          `DELETE FROM _service_history WHERE "table" = '"public"`,
        ),
      };
      await run(db, engine.name === "postgres" ? statements.postgres : statements.sqlite);
      assertEquals((await versionsOf(service, "/api/notes/1")).length, 1);
      assertEquals((await versionsOf(service, "/api/notes/2")).length, 2);
      const { rows } = await db.query({ text: "SELECT image FROM _service_history", values: [] });
      assertEquals(rows.length, 2);
    });
  },
);

testOnEngines("pages of long rows fit in a response", async (engine) => {
  const resources = [resource(notes, { id: notes.id, auth: anyone, history })];
  await withService(engine, [notes], () => ({ resources }), async ({ db, get }) => {
    await run(db, "INSERT INTO notes (id, owner_id, title) VALUES (1, 'ada', '0')");
    const long = "x".repeat(3_000_000);
    for (const title of "123456") {
      await run(db, `UPDATE notes SET title = '${title}', secret = '${title}${long}'`);
    }
    const titles: string[] = [];
    let query = "";
    for (let page = 0; page < 20; page++) {
      const { status, body } = await get(`/api/notes/1/history${query}`, ada);
      assertEquals(status, 200, JSON.stringify(body).slice(0, 200));
      for (const { row } of body.items) titles.push(row.title);
      if (!body.hasMore) break;
      query = `?cursor=${body.nextCursor}`;
    }
    assertEquals(titles.join(""), "6543210");
  });
});

testOnEngines(
  "a version with a value of an earlier type is shown, and not restored",
  async (engine) => {
    const before = table("counts", { id: integer().primaryKey(), amount: text() });
    const after = table("counts", { id: integer().primaryKey(), amount: integer() });
    const resources = (of: typeof before | typeof after) => [
      // deno-lint-ignore no-explicit-any -- the types of the two tables differ
      resource(of as any, { id: (of as any).id, auth: anyone, history }),
    ];
    await withService(engine, [before], () => ({ resources: resources(before) }), async (first) => {
      await first.send("POST", "/api/counts", { id: 1, amount: "many" }, ada);
      await first.send("PATCH", "/api/counts/1", { amount: "7" }, ada);
      const between = table("counts", { id: integer().primaryKey() });
      await first.db.migrate([between], { allowDrop: ["counts.amount"] });
      await first.db.migrate([after]);
      const { rows } = await first.db.query({
        text: "SELECT image FROM _service_history",
        values: [],
      });
      assertEquals(rows.length, 2);
      const app = await createApp({
        db: first.db,
        secret: "a secret for the tests only",
        resources: resources(after),
        auth: { middleware: (context, next) => (context.set("user", { id: "ada" }), next()) },
        runtime: { ...systemRuntime(() => {}), cron: undefined },
      });
      const call = async (method: string, path: string, body?: unknown) => {
        const response = await app.fetch(
          new Request(`http://test/api/counts${path}`, {
            method,
            headers: { "content-type": "application/json" },
            ...(body === undefined ? {} : { body: JSON.stringify(body) }),
          }),
        );
        return { status: response.status, body: await response.json() };
      };
      try {
        const { status, body } = await call("GET", "/1/history");
        assertEquals(status, 200, JSON.stringify(body));
        const { version, row } = body.items.at(-1);
        assertEquals(row.amount, "many");
        const reverted = await call("POST", "/1/revert", { version });
        assertEquals(reverted.status, 422, JSON.stringify(reverted.body));
      } finally {
        await app.close();
      }
    });
  },
);

testOnEngines(
  "a version that lacks a column has no computed fields",
  async (engine) => {
    const before = table("words", { id: integer().primaryKey() });
    const after = table("words", {
      id: integer().primaryKey(),
      word: text().notNull().default("w"),
    });
    const first = { resources: [resource(before, { id: before.id, auth: anyone, history })] };
    await withService(engine, [before], () => first, async ({ db, send }) => {
      await send("POST", "/api/words", { id: 1 }, ada);
      await db.migrate([after]);
      const app = await createApp({
        db,
        secret: "a secret for the tests only",
        resources: [
          resource(after, {
            id: after.id,
            auth: anyone,
            history,
            computed: { shout: (row) => row.word.toUpperCase() },
          }),
        ],
        auth: { middleware: (context, next) => (context.set("user", { id: "ada" }), next()) },
        runtime: { ...systemRuntime(() => {}), cron: undefined },
      });
      try {
        const response = await app.fetch(new Request("http://test/api/words/1/history"));
        const body = await response.json();
        assertEquals(response.status, 200, JSON.stringify(body));
        assertEquals(body.items.map(({ row }: { row: unknown }) => row), [
          { id: 1, word: "w", shout: "W" },
          { id: 1 },
        ]);
      } finally {
        await app.close();
      }
    });
  },
);

testOnEngines(
  "a column that is not recorded makes no version by a computed field",
  async (engine) => {
    const config = {
      changes: { exclude: [notes.secret] },
      resources: [
        resource(notes, {
          id: notes.id,
          auth: anyone,
          history,
          fields: { readable: [notes.id, notes.title] },
          computed: { size: (row) => row.secret?.length ?? 0 },
        }),
      ],
    };
    await withService(engine, [notes], () => config, async (service) => {
      await run(
        service.db,
        "INSERT INTO notes (id, owner_id, title, secret) VALUES (1, 'a', 'b', 'c')",
      );
      await run(service.db, "UPDATE notes SET secret = 'longer'");
      assertEquals(await versionsOf(service, "/api/notes/1"), [[null, null, {
        id: 1,
        title: "b",
      }]]);
    });
  },
);
