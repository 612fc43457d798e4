import { assertEquals } from "@std/assert";
import {
  all,
  eq,
  integer,
  json,
  real,
  resource,
  table,
  text,
  timestamp,
  type User,
} from "../../mod.ts";
import {
  hiddenMark,
  insertRows,
  type Service,
  testOnEngines,
  withService,
} from "../support/http.ts";

const notes = table("notes", {
  id: integer().primaryKey(),
  ownerId: text().notNull().as("owner_id"),
  title: text(),
  secret: text(),
  version: integer().notNull().default(1),
});
const own = (user: User) => eq(notes.ownerId, user.id);
const anyone = { read: () => all(), create: () => all(), update: () => all(), delete: () => all() };
const ada = { "x-user": "ada" };
const bob = { "x-user": "bob" };

/** The versions of a row, without their ids and times. */
async function versionsOf(
  { get }: Pick<Service, "get">,
  path: string,
  headers: Record<string, string> = ada,
) {
  const { status, body } = await get(path, headers);
  if (status !== 200) return status;
  // deno-lint-ignore no-explicit-any -- a test says what it expects by asserting it
  return body.items.map(({ user, operation, row }: any) => [user, operation, row]);
}

testOnEngines("each write makes a version, with its user and its operation", async (engine) => {
  const resources = [resource(notes, { id: notes.id, auth: anyone, history: {} })];
  await withService(engine, [notes], () => ({ resources }), async (service) => {
    const { send, db, app } = service;
    const row = { id: 1, ownerId: "ada", title: "a", secret: null, version: 1 };
    assertEquals((await send("POST", "/api/notes", row, ada)).status, 201);
    assertEquals((await send("PATCH", "/api/notes/1", { title: "b" }, bob)).status, 200);
    assertEquals((await send("PATCH", "/api/notes/1", { title: "b" }, ada)).status, 200);
    assertEquals(
      (await send("PUT", "/api/notes/1", { ownerId: "ada", title: "c" }, ada)).status,
      200,
    );
    const patch = { filter: "id==1", patch: { title: "d" } };
    assertEquals((await send("PATCH", "/api/notes/batch", patch, bob)).status, 200);
    const items = [{ ...row, title: "e" }];
    assertEquals((await send("POST", "/api/notes/batch/upsert", { items }, ada)).status, 200);
    await db.query({ text: "UPDATE notes SET title = 'f'", values: [] });
    await app.asSystem().of(notes).update(1, { title: "g" });
    const expected = [
      [null, "update", "g"],
      [null, null, "f"],
      ["ada", "upsert", "e"],
      ["bob", "batch-update", "d"],
      ["ada", "replace", "c"],
      ["bob", "update", "b"],
      ["ada", "create", "a"],
    ].map(([user, operation, title]) => [user, operation, { ...row, title }]);
    assertEquals(await versionsOf(service, "/api/notes/1/history"), expected);
    assertEquals(await versionsOf(service, "/api/notes/2/history"), 404);
    assertEquals(await versionsOf(service, "/api/notes/x/history"), 404);
    assertEquals((await send("DELETE", "/api/notes/1", undefined, bob)).status, 204);
    assertEquals(await versionsOf(service, "/api/notes/1/history"), 404);
    assertEquals((await send("POST", "/api/notes/batch", { items: [row] }, ada)).status, 201);
    const again = [["ada", "batch-create", row], ["bob", "delete", null], ...expected];
    assertEquals(await versionsOf(service, "/api/notes/1/history"), again);
  });
});

testOnEngines("a change of hidden fields leaves no trace in a history", async (engine) => {
  const resources = [
    resource(notes, {
      id: notes.id,
      auth: { ...anyone, public: { read: true } },
      fields: { readable: [notes.id, notes.title], writable: [notes.title, notes.ownerId] },
      history: {},
    }),
  ];
  await withService(engine, [notes], () => ({ resources }), async (service) => {
    const { db, send, get } = service;
    await insertRows(db, notes, [{ id: 1, ownerId: "ada", title: "a", secret: hiddenMark }]);
    const shown = [["system", null, { id: 1, title: "a" }]];
    const list = async () => (await get("/api/notes/1/history", ada)).body;
    const write = async (secret: string) =>
      await db.query({ text: `UPDATE notes SET secret = '${hiddenMark}${secret}'`, values: [] });
    const before = await list();
    assertEquals([before.items.length, before.hasMore, before.items[0].row], [
      1,
      false,
      shown[0]![2],
    ]);
    for (const secret of ["b", "c", "d"]) {
      await write(secret);
      const { items, ...rest } = await list();
      const { version: _before, ...first } = before.items[0];
      const { version, ...only } = items[0];
      assertEquals([items.length, only, rest], [1, first, { nextCursor: null, hasMore: false }]);
      assertEquals(version.length, before.items[0].version.length);
    }
    // A write-only field is no change, either.
    assertEquals((await send("PATCH", "/api/notes/1", { ownerId: "bob" }, bob)).status, 200);
    assertEquals((await list()).items.length, 1);
    assertEquals((await send("PATCH", "/api/notes/1", { title: "b" }, bob)).status, 200);
    await write("e");
    assertEquals(
      await versionsOf(service, "/api/notes/1/history"),
      [["bob", "update", { id: 1, title: "b" }], [null, null, { id: 1, title: "a" }]],
    );
    // Anonymous callers learn no ids of users.
    assertEquals(
      await versionsOf(service, "/api/notes/1/history", {}),
      [[null, "update", { id: 1, title: "b" }], [null, null, { id: 1, title: "a" }]],
    );
  });
});

testOnEngines(
  "a history shows the versions within the scope, of a row within the scope",
  async (engine) => {
    const resources = [
      resource(notes, { id: notes.id, auth: { ...anyone, read: own }, history: {} }),
    ];
    await withService(engine, [notes], () => ({ resources }), async (service) => {
      const { db, send } = service;
      await insertRows(db, notes, [{ id: 1, ownerId: "ada", title: "a", secret: null }]);
      const set = async (ownerId: string, title: string) =>
        await db.query({
          text: `UPDATE notes SET owner_id = '${ownerId}', title = '${title}'`,
          values: [],
        });
      await set("bob", "b");
      await set("bob", "c");
      await set("ada", "a");
      const titles = async (headers: typeof ada) => {
        const versions = await versionsOf(service, "/api/notes/1/history", headers);
        // deno-lint-ignore no-explicit-any -- a test says what it expects by asserting it
        return Array.isArray(versions) ? versions.map((one: any) => one[2].title) : versions;
      };
      assertEquals([await titles(ada), await titles(bob)], [["a"], 404]);
      await set("bob", "d");
      assertEquals([await titles(ada), await titles(bob)], [404, ["d", "c", "b"]]);
      // A version outside of the scope cannot be restored, even if the caller has its id.
      const { body } = await service.get("/api/notes/1/history", bob);
      const version = body.items[1].version;
      await set("ada", "e");
      const revert = async (headers: typeof ada) =>
        (await send("POST", "/api/notes/1/revert", { version }, headers)).status;
      assertEquals([await revert(ada), await revert(bob)], [404, 404]);
      await set("bob", "f");
      assertEquals(await revert(bob), 200);
    });
  },
);

const kinds = table("kinds", {
  a: text().primaryKey(),
  b: real().primaryKey(),
  count: integer(),
  body: json(),
  at: timestamp(),
});

testOnEngines("a version has the values of its row, whatever its key", async (engine) => {
  const resources = [
    resource(kinds, { id: [kinds.a, kinds.b], auth: anyone, history: {} }),
  ];
  const at = "2024-02-03T04:05:06.123456Z";
  const keys = [["x,y", 0.1], ['"\\u0041', 1e300], ["\\n", 0.30000000000000004], ["\\u", 0.3], [
    "é'",
    -2,
  ]] as const;
  await withService(engine, [kinds], () => ({ resources }), async (service) => {
    const { send, get } = service;
    const body = { text: "\\u0000 \ud83d\ude00", big: [1.5, null, { a: "b" }] };
    for (const [a, b] of keys) {
      const created = await send("POST", "/api/kinds", { a, b, count: 1, body, at }, ada);
      assertEquals(created.status, 201, JSON.stringify(created.body));
    }
    for (const [a, b] of keys) {
      const path = `/api/kinds/${encodeURIComponent(a)},${b}`;
      const before = (await get(path, ada)).body;
      assertEquals((await send("PATCH", path, { count: 2, body: ["\\u0000"] }, ada)).status, 200);
      const after = (await get(path, ada)).body;
      assertEquals(
        await versionsOf(service, `${path}/history`),
        [["ada", "update", after], ["ada", "create", before]],
      );
    }
  });
});

testOnEngines("a history has pages, which end where the caller sees no more", async (engine) => {
  const resources = [
    resource(notes, {
      id: notes.id,
      auth: anyone,
      fields: { readable: [notes.id, notes.title] },
      history: {},
    }),
  ];
  await withService(engine, [notes], () => ({ resources }), async (service) => {
    const { db, get } = service;
    await insertRows(db, notes, [{ id: 1, ownerId: "ada", title: "0", secret: "" }]);
    for (let title = 1; title <= 7; title++) {
      await db.query({
        text: `UPDATE notes SET title = '${title}', version = version + 1`,
        values: [],
      });
      for (let change = 0; change < title; change++) {
        await db.query({ text: "UPDATE notes SET version = version + 1", values: [] });
      }
    }
    const wanted = ["7", "6", "5", "4", "3", "2", "1", "0"];
    for (const limit of [1, 2, 3, 7, 8, 9]) {
      const found: string[] = [];
      let pages = 0;
      for (let cursor = "";; pages++) {
        const { body } = await get(`/api/notes/1/history?limit=${limit}${cursor}`, ada);
        // deno-lint-ignore no-explicit-any -- a test says what it expects by asserting it
        found.push(...body.items.map((one: any) => one.row.title));
        if (!body.hasMore) break;
        assertEquals(body.items.length, limit);
        cursor = `&cursor=${body.nextCursor}`;
      }
      assertEquals([found, pages], [wanted, Math.ceil(8 / limit) - 1], `limit ${limit}`);
    }
    const { body: { nextCursor } } = await get("/api/notes/1/history?limit=1", ada);
    await insertRows(db, notes, [{ id: 2, ownerId: "ada", title: "0", secret: "" }]);
    const wrong = await get(`/api/notes/2/history?cursor=${nextCursor}`, ada);
    assertEquals([wrong.status, wrong.body.code], [400, "CURSOR_INVALID"]);
  });
});

testOnEngines("a very long history is read in parts, and every page ends", async (engine) => {
  const resources = [
    resource(notes, {
      id: notes.id,
      auth: anyone,
      fields: { readable: [notes.id, notes.title] },
      history: {},
    }),
  ];
  await withService(engine, [notes], () => ({ resources }), async ({ db, get }) => {
    await insertRows(db, notes, [{ id: 1, ownerId: "ada", title: "a", secret: "" }]);
    await db.transaction(async (tx) => {
      for (let count = 0; count < 2_300; count++) {
        await tx.query({ text: "UPDATE notes SET version = version + 1", values: [] });
      }
    });
    const sizes: number[] = [];
    for (let cursor = "", hasMore = true; hasMore;) {
      const { body } = await get(`/api/notes/1/history${cursor}`, ada);
      sizes.push(body.items.length);
      hasMore = body.hasMore;
      cursor = `?cursor=${body.nextCursor}`;
    }
    assertEquals(sizes, [0, 0, 1]);
  });
});

testOnEngines("a history has the members of docs/configuration/resource.md", async (engine) => {
  const document = Deno.readTextFileSync(
    new URL("../../docs/configuration/resource.md", import.meta.url),
  );
  const [, block = ""] = /```json\n([^`]+)```/.exec(document) ?? [];
  const tasks = table("tasks", { id: integer().primaryKey(), title: text() });
  const resources = [resource(tasks, { id: tasks.id, auth: anyone, history: {} })];
  await withService(engine, [tasks], () => ({ resources }), async ({ get, send }) => {
    await send("POST", "/api/tasks", { id: 1, title: "Buy coffee" }, bob);
    await send("PATCH", "/api/tasks/1", { title: "Buy tea" }, ada);
    const { body } = await get("/api/tasks/1/history", ada);
    const varying = /"(?:version|at)": "[^"]*"/g;
    const plain = (text: string) => JSON.parse(text.replace(varying, '"x": ""'));
    assertEquals(plain(JSON.stringify(body, null, 1)), plain(block));
    for (const { at } of body.items) assertEquals(new Date(at).toISOString(), at);
  });
});
