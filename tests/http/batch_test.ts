import { assert, assertEquals, assertMatch } from "@std/assert";
import { eq, integer, Problem, resource, table, text } from "../../mod.ts";
import { insertRows, testOnEngines, testOnEveryEngine, withService } from "../support/http.ts";
import { ada, notes, open, some, withNotes } from "./batch_support.ts";

testOnEveryEngine(
  "a batch create answers with its rows in the order of its items",
  (engine) =>
    withNotes(engine, {
      fields: {
        readable: [notes.id, notes.title, notes.rank],
        writable: [notes.title, notes.slug, notes.rank],
      },
      computed: { shout: (row) => `${row.title}! ${row.slug}` },
      strictInput: true,
    }, async ({ get, send }) => {
      const items = [
        { title: "nine", id: 90, _etag: "x", _optimisticId: "y" },
        { title: "c", rank: 3 },
        { title: "b", slug: "s", ownerId: "eve" },
        { title: "one", id: 10, rank: null },
        { title: "a" },
      ];
      const { status, body } = await send("POST", "/api/notes/batch", { items }, ada);
      assertEquals(status, 201);
      const shown = body.items.map((item: Record<string, unknown>) => ({ ...item, id: 0 }));
      assertEquals(shown, [
        { id: 0, title: "nine", rank: 7, shout: "nine! null", _optimisticId: "y" },
        { id: 0, title: "c", rank: 3, shout: "c! null" },
        { id: 0, title: "b", rank: 7, shout: "b! s" },
        { id: 0, title: "one", rank: null, shout: "one! null" },
        { id: 0, title: "a", rank: 7, shout: "a! null" },
      ]);
      assertEquals([body.items[0].id, body.items[3].id], [90, 10]);
      for (const item of body.items) {
        assertEquals((await get(`/api/notes/${item.id}`)).body.title, item.title);
      }
      assertEquals((await get("/api/notes/count?filter=ownerId==eve")).status, 400);
      assertEquals((await send("POST", "/api/notes/batch", { items: [] }, ada)).body, {
        items: [],
      });
    }),
);

const wide = table("wide", {
  id: text().primaryKey(),
  ...Object.fromEntries(some(34, (n) => [`c${n}`, text()])),
});

testOnEngines(
  "a batch of 2,000 wide rows is split where a statement can bind no more values",
  (engine) =>
    withService(engine, [wide], () => ({
      resources: [resource(wide, { id: wide.id, auth: open, batch: { create: 2_000 } })],
    }), async ({ get, send }) => {
      const row = Object.fromEntries(some(34, (n) => [`c${n}`, "v"]));
      const items = some(2_000, (n) => ({ id: `r${n}`, ...row, c34: String(n) }));
      const { status, body } = await send("POST", "/api/wide/batch", { items }, ada);
      assertEquals([status, body.items.length], [201, 2_000]);
      assertEquals(
        body.items.map((item: { c34: string }) => Number(item.c34)),
        some(2_000, Number),
      );
      assertEquals((await get("/api/wide/count")).body, { count: 2_000 });
      // One row too many, and one that the database refuses: no other row is stored.
      const tooMany = { items: some(2_001, (n) => ({ id: `t${n}` })) };
      assertEquals((await send("POST", "/api/wide/batch", tooMany, ada)).status, 400);
      const taken = { items: [...some(1_500, (n) => ({ id: `t${n}`, ...row })), { id: "r1" }] };
      assertEquals((await send("POST", "/api/wide/batch", taken, ada)).status, 409);
      assertEquals((await get("/api/wide/count")).body, { count: 2_000 });
    }),
);

const blanks = table("blanks", { id: integer().primaryKey(), title: text() });

testOnEngines(
  "rows of defaults alone can be created in one batch",
  (engine) =>
    withService(engine, [blanks], () => ({
      resources: [resource(blanks, { id: blanks.id, auth: open })],
    }), async ({ get, send }) => {
      const { body } = await send("POST", "/api/blanks/batch", { items: [{}, {}, {}] }, ada);
      assertEquals(body.items, some(3, (id) => ({ id, title: null })));
      assertEquals((await get("/api/blanks/count")).body, { count: 3 });
    }),
);

testOnEngines(
  "without hooks the number of statements does not grow with the rows",
  (engine) =>
    withNotes(engine, {
      auth: {
        ...open,
        create: (user) => eq(notes.ownerId, user.id),
        update: (user) => eq(notes.ownerId, user.id),
        delete: (user) => eq(notes.ownerId, user.id),
      },
      etag: { versionField: notes.version, updatedAtField: notes.updatedAt },
      batch: { create: 500, update: 500, replace: 500, delete: 500, incrementVersion: true },
    }, async ({ get, send }, statements) => {
      const count = (): number => statements.splice(0).length;
      // SQLite writes the rows in slices, by the time that those before took.
      const requireCount = (expected: number) => {
        const counted = count();
        if (engine.name === "postgres") assertEquals(counted, expected);
        else assert(counted >= expected && counted < 100, `${counted} statements`);
      };
      // The statements of the start.
      count();
      const items = some(500, (n) => ({ id: n, title: `t${n}`, ...(n % 2 ? { rank: n } : {}) }));
      assertEquals((await send("POST", "/api/notes/batch", { items }, ada)).status, 201);
      // The rows, and whether they lie within the scope.
      assertEquals(count(), 2);
      const patch = { filter: "id>0", patch: { title: "x" } };
      assertEquals((await send("PATCH", "/api/notes/batch", patch, ada)).body, { count: 500 });
      // The keys, the rows that are locked, their change, and the scope.
      requireCount(4);
      assertEquals((await get("/api/notes/500")).body.version, 2);
      count();
      const gone = await send("DELETE", "/api/notes/batch", { filter: "title==x" }, ada);
      assertEquals(gone.body, { count: 500 });
      requireCount(3);
      assertEquals((await get("/api/notes/count")).body, { count: 0 });
    }),
);

testOnEngines(
  "the maximum number of items is accepted, and one more is refused before any query",
  (engine) => {
    let hooks = 0;
    return withNotes(engine, {
      batch: { create: 2, replace: 2 },
      hooks: { onBeforeCreate: () => void hooks++, onBeforeUpdate: () => void hooks++ },
    }, async ({ get, send }) => {
      const title = "t";
      const two = { items: some(2, (id) => ({ id, title })) };
      const three = { items: [null, null, null] };
      for (
        const [method, path] of [["POST", "batch"], ["POST", "batch/upsert"], ["PUT", "batch"]]
      ) {
        const refused = await send(method ?? "", `/api/notes/${path}`, three, ada);
        assertEquals([refused.status, refused.body.code], [400, "BATCH_LIMIT_EXCEEDED"]);
      }
      assertEquals(hooks, 0);
      assertEquals((await send("POST", "/api/notes/batch", two, ada)).status, 201);
      assertEquals((await send("PUT", "/api/notes/batch", two, ada)).status, 200);
      assertEquals((await send("POST", "/api/notes/batch/upsert", two, ada)).status, 200);
      assertEquals((await get("/api/notes/count")).body, { count: 2 });
    });
  },
);

testOnEngines(
  "a batch without a usable body is refused in the same way everywhere",
  (engine) =>
    withNotes(engine, { fields: { filterable: [notes.id] } }, async ({ db, get, send }) => {
      await insertRows(db, notes, some(3, (id) => ({ id, title: "t" })).map(owned));
      for (const method of ["PATCH", "DELETE"]) {
        for (
          const filter of [
            undefined,
            "",
            " \t",
            "*",
            " * ",
            null,
            5,
            true,
            {},
            [],
            "id==1),(id==2",
            "id==1)",
            "title==t",
            "nothing==1",
            "id==x",
          ]
        ) {
          const body = { filter, patch: { title: "x" } };
          const { status, body: problem } = await send(method, "/api/notes/batch", body, ada);
          assertEquals([filter, status, problem.code], [filter, 400, "FILTER_PARSE_ERROR"]);
        }
        assertEquals((await send(method, "/api/notes/batch", [], ada)).status, 400);
      }
      for (const patch of [undefined, null, [], "title", 7]) {
        const { status, body } = await send("PATCH", "/api/notes/batch", {
          filter: "id>0",
          patch,
        }, ada);
        assertEquals([status, body.details.errors], [
          422,
          [{ path: "patch", message: "must be an object" }],
        ]);
      }
      const bad = await send("PATCH", "/api/notes/batch", {
        filter: "id>0",
        patch: { rank: "x", title: null, id: 4 },
      }, ada);
      assertEquals([bad.status, paths(bad.body)], [422, ["patch.rank", "patch.title"]]);
      const rekeyed = { filter: "id==1", patch: { id: 1 } };
      assertEquals((await send("PATCH", "/api/notes/batch", rekeyed, ada)).status, 422);
      for (
        const [method, path] of [["POST", "batch"], ["POST", "batch/upsert"], ["PUT", "batch"]]
      ) {
        const write = (body: unknown) => send(method ?? "", `/api/notes/${path}`, body, ada);
        for (const items of [undefined, null, {}, "x", 5]) {
          const { status, body } = await write({ items });
          assertEquals([items, status, paths(body)], [items, 422, ["items"]]);
        }
        for (const item of [null, "x", 5, [], true]) {
          const { status, body } = await write({ items: [{ id: 9, title: "t" }, item] });
          assertEquals([status, paths(body), body.details.index], [422, ["items.1"], 1]);
        }
        assertEquals((await write([])).status, 400);
        assertEquals([(await write({ items: [] })).body], [{ items: [] }]);
      }
      assertEquals(
        (await get("/api/notes")).body.items.map((row: { title: string }) => row.title),
        [
          "t",
          "t",
          "t",
        ],
      );
    }),
);

testOnEveryEngine(
  "an invalid item is named by its index, and no other item is written",
  (engine) =>
    withNotes(engine, {
      strictInput: true,
      hooks: {
        onBeforeCreate: (_context, data) => {
          if (data.title === "veto") {
            throw new Problem("forbidden", "No", { details: { why: "so" } });
          }
        },
        onAfterCreate: (_context, row) => {
          if (row.title === "late") throw new Problem("conflict", "Too late");
        },
      },
    }, async ({ get, send }) => {
      const good = { title: "good" };
      const write = (item: unknown) =>
        send("POST", "/api/notes/batch", { items: [good, good, item, good] }, ada);
      const expected: readonly (readonly [unknown, number, readonly string[]])[] = [
        [{ title: 5, rank: "x" }, 422, ["items.2.title", "items.2.rank"]],
        [{ titel: "x", title: "t" }, 422, ["items.2.titel"]],
        [{ rank: 1 }, 422, ["items.2.title"]],
        [{ title: "t", _ifMatch: "*" }, 422, ["items.2._ifMatch"]],
      ];
      for (const [item, status, places] of expected) {
        const refused = await write(item);
        assertEquals([refused.status, paths(refused.body)], [status, places]);
        assertEquals(refused.body.details.index, 2);
        assertMatch(refused.body.detail, /items\.2\./);
      }
      const vetoed = await write({ title: "veto" });
      assertEquals([vetoed.status, vetoed.body.details], [403, { why: "so", index: 2 }]);
      assertEquals((await write({ title: "late" })).status, 409);
      assertEquals((await get("/api/notes/count")).body, { count: 0 });
    }),
);

testOnEngines(
  "a row of a batch outside the scope rolls the whole batch back",
  (engine) =>
    withNotes(engine, {
      auth: {
        ...open,
        create: (user) => eq(notes.ownerId, user.id),
        update: (user) => eq(notes.ownerId, user.id),
      },
    }, async ({ get, send }) => {
      const items = some(5, (id) => ({ id, title: "t", ownerId: id === 4 ? "bob" : "ada" }));
      const refused = await send("POST", "/api/notes/batch", { items }, ada);
      assertEquals([refused.status, refused.body.details], [403, { index: 3 }]);
      assertEquals((await get("/api/notes/count")).body, { count: 0 });
      const own = items.map((item) => ({ ...item, ownerId: "ada" }));
      assertEquals((await send("POST", "/api/notes/batch", { items: own }, ada)).status, 201);
      for (const [method, path] of [["PUT", "batch"], ["POST", "batch/upsert"]]) {
        const moved = await send(method ?? "", `/api/notes/${path}`, {
          items: items.map((item) => ({ ...item, title: "moved" })),
        }, ada);
        assertEquals([moved.status, moved.body.details], [403, { index: 3 }]);
      }
      assertEquals((await get("/api/notes/count?filter=title==t;ownerId==ada")).body, { count: 5 });
    }),
);

testOnEngines(
  "each batch route needs enableBatch and the capability of what it does",
  (engine) =>
    withNotes(engine, { capabilities: { enableUpdate: false } }, async ({ send, get }) => {
      const patch = await send("PATCH", "/api/notes/batch", { filter: "id==1", patch: {} }, ada);
      assertEquals([patch.status, patch.headers.get("allow")], [405, "POST, DELETE"]);
      assertEquals((await send("POST", "/api/notes/batch/upsert", { items: [] }, ada)).status, 404);
      assertEquals((await get("/api/notes/batch")).status, 405);
      assertEquals((await get("/api/notes/batch/other")).status, 404);
      assertEquals((await send("POST", "/api/notes/batch", { items: [] }, ada)).status, 201);
    }),
);

testOnEngines(
  "without enableBatch every path below /batch is 404",
  (engine) =>
    withNotes(engine, { capabilities: { enableBatch: false } }, async ({ send }) => {
      for (const method of ["POST", "PATCH", "PUT", "DELETE"]) {
        const body = { items: [], filter: "id==1", patch: {} };
        assertEquals((await send(method, "/api/notes/batch", body, ada)).status, 404);
      }
      assertEquals((await send("POST", "/api/notes/batch/upsert", { items: [] }, ada)).status, 404);
    }),
);

function owned(row: Record<string, unknown>): Record<string, unknown> {
  return { ownerId: "ada", rank: 7, version: 1, ...row };
}

function paths(body: { details: { errors: { path: string }[] } }): string[] {
  return body.details.errors.map(({ path }) => path);
}
