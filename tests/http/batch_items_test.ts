import { assertEquals } from "@std/assert";
import { eq, integer, resource, table, text } from "../../mod.ts";
import { compareInstants } from "../../src/schema/instant.ts";
import { tableInfoOf } from "../../src/schema/table_like.ts";
import {
  type Answer,
  insertRows,
  testOnEngines,
  testOnEveryEngine,
  withService,
} from "../support/http.ts";
import { ada, type Note, notes, open, some, withNotes } from "./batch_support.ts";

const version = { versionField: notes.version, updatedAtField: notes.updatedAt };

testOnEngines(
  "PUT /batch replaces rows by key, and one unknown key undoes all of it",
  (engine) =>
    withNotes(engine, {
      fields: {
        writable: [notes.title, notes.rank],
        readable: [notes.id, notes.title, notes.rank],
      },
      strictInput: true,
    }, async ({ db, get, send }) => {
      await insertRows(
        db,
        notes,
        some(3, (id) => stored({ id, title: "t", rank: 1, slug: `s${id}` })),
      );
      const put = (items: unknown) => send("PUT", "/api/notes/batch", { items }, ada);
      const answer = await put([{ id: 3, title: "c", _etag: "x" }, { id: 1, title: "a", rank: 5 }]);
      assertEquals([answer.status, answer.body], [200, {
        items: [{ id: 3, title: "c", rank: 7 }, { id: 1, title: "a", rank: 5 }],
      }]);
      const unknown = await put([{ id: 1, title: "x" }, { id: 9, title: "y" }]);
      assertEquals([unknown.status, unknown.body.details], [404, { index: 1 }]);
      const twice = await put([{ id: 1, title: "x" }, { id: 2, title: "y" }, {
        id: 1,
        title: "z",
      }]);
      assertEquals([twice.status, twice.body.details.index], [422, 2]);
      const keyless = await put([{ id: 1, title: "x" }, { title: "y" }]);
      assertEquals([keyless.status, keyless.body.details], [422, {
        errors: [{ path: "items.1.id", message: "is required" }],
        index: 1,
      }]);
      assertEquals((await get("/api/notes/1")).body.title, "a");
      const { rows } = await db.driver.query({
        text: "SELECT slug FROM notes ORDER BY id",
        values: [],
      });
      assertEquals(rows.flat(), ["s1", "s2", "s3"]);
    }),
);

testOnEveryEngine(
  "an upsert changes existing rows and creates the others, each by its own rules",
  (engine) => {
    const calls: string[] = [];
    return withNotes(engine, {
      fields: { writable: [notes.title, notes.rank] },
      computed: { shout: (row: Note) => `${row.title}!` },
      auth: { ...open, create: (user) => eq(notes.ownerId, user.id) },
      generatedFields: [notes.ownerId],
      hooks: {
        onBeforeCreate: (_context, data) => {
          calls.push(`create ${data.id}`);
          return { ...data, slug: `new ${data.id}` };
        },
        onAfterCreate: (_context, row) => void calls.push(`created ${row.id} ${row.slug}`),
        onBeforeUpdate: (_context, id, patch) => {
          calls.push(`update ${id} ${JSON.stringify(patch)}`);
        },
        onAfterUpdate: (_context, row) => void calls.push(`updated ${row.id}`),
      },
    }, async ({ db, send }) => {
      await insertRows(db, notes, [stored({ id: 2, title: "old", ownerId: "bob", rank: 1 })]);
      const items = [{ id: 4, title: "d" }, { id: 2, title: "b" }, {
        id: 3,
        title: "c",
        slug: "x",
      }];
      const { status, body } = await send("POST", "/api/notes/batch/upsert", { items }, ada);
      const shown = body.items.map((item: Note & { shout: string }) =>
        [item.id, item.title, item.ownerId, item.rank, item.slug, item.shout].join()
      );
      assertEquals([status, shown], [200, [
        "4,d,ada,7,new 4,d!",
        "2,b,bob,1,,b!",
        "3,c,ada,7,new 3,c!",
      ]]);
      assertEquals(calls, [
        'update 2 {"title":"b"}',
        "create 4",
        "create 3",
        "created 3 new 3",
        "created 4 new 4",
        "updated 2",
      ]);
      const incomplete = { items: [{ id: 2, rank: 1 }, { id: 9, rank: 1 }] };
      const refused = await send("POST", "/api/notes/batch/upsert", incomplete, ada);
      assertEquals([refused.status, refused.body.details], [422, {
        errors: [{ path: "items.1.title", message: "is required" }],
        index: 1,
      }]);
    });
  },
);

testOnEngines(
  "an upsert of one row outside the scope, or a deleted one, writes nothing",
  (engine) =>
    withNotes(engine, {
      softDelete: { field: notes.deletedAt },
      auth: {
        ...open,
        public: false,
        read: (user) => eq(notes.ownerId, user.id),
        update: (user) => eq(notes.ownerId, user.id),
      },
    }, async ({ db, send }) => {
      await insertRows(db, notes, [
        stored({ id: 1, title: "t" }),
        stored({ id: 2, title: "t", ownerId: "bob" }),
        stored({ id: 3, title: "t", deletedAt: "2024-01-01T00:00:00.000Z" }),
        stored({ id: 4, title: "t", ownerId: "bob", deletedAt: "2024-01-01T00:00:00.000Z" }),
      ]);
      const state = async () =>
        (await db.driver.query({
          text: "SELECT id, owner_id, title FROM notes ORDER BY id",
          values: [],
        }))
          .rows;
      const before = await state();
      const statuses: readonly (readonly [number, number])[] = [[2, 403], [3, 409], [4, 403]];
      for (const [id, expected] of statuses) {
        const items = [1, 11, id, 12, 13].map((key) => ({ id: key, title: "x", ownerId: "ada" }));
        const { status, body } = await send("POST", "/api/notes/batch/upsert", { items }, ada);
        assertEquals([id, status, body.details], [id, expected, { index: 2 }]);
      }
      const items = [{ id: 1, title: "x", ownerId: "bob" }];
      assertEquals((await send("POST", "/api/notes/batch/upsert", { items }, ada)).status, 403);
      assertEquals(await state(), before);
    }),
);

testOnEngines(
  "an upsert needs both scopes",
  (engine) =>
    withNotes(engine, {}, async ({ send }) => {
      assertEquals((await send("POST", "/api/notes/batch/upsert", { items: [] })).status, 401);
      assertEquals((await send("POST", "/api/notes/batch/upsert", { items: [] }, ada)).status, 200);
    }),
);

for (const missing of ["create", "update"] as const) {
  testOnEngines(
    `an upsert without the right to ${missing} is refused`,
    (engine) =>
      withNotes(engine, { auth: { ...open, [missing]: undefined } }, async ({ send }) => {
        const items = [{ id: 1, title: "x" }];
        assertEquals((await send("POST", "/api/notes/batch/upsert", { items }, ada)).status, 403);
      }),
  );
}

testOnEngines(
  "batches keep the version, move the time of update, and take preconditions of items only",
  (engine) =>
    withNotes(engine, { etag: { ...version, require: true } }, async ({ db, get, send }) => {
      await insertRows(db, notes, some(3, (id) => stored({ id, title: "t" })));
      const state = async (id: number) => {
        const { body } = await get(`/api/notes/${id}`);
        return [body.title, body.version];
      };
      const stale = { ...ada, "if-match": '"stale"' };
      const patch = { filter: "id>0", patch: { title: "p" } };
      assertEquals((await send("PATCH", "/api/notes/batch", patch, stale)).body, { count: 3 });
      assertEquals(await state(1), ["p", 1]);
      const moments: string[] = [];
      for (let turn = 0; turn < 5; turn++) {
        await send("PATCH", "/api/notes/batch", { filter: "id>0", patch: {} }, ada);
        moments.push((await get("/api/notes/2")).body.updatedAt);
      }
      assertEquals(moments, [...new Set(moments)].sort(compareInstants));
      for (const [method, path] of [["PUT", "batch"], ["POST", "batch/upsert"]]) {
        const write = (items: unknown): Promise<Answer> =>
          send(method ?? "", `/api/notes/${path}`, { items }, stale);
        const tag = (await get("/api/notes/2")).headers.get("etag");
        const before = Number((await state(2))[1]);
        const lost = await write([{ id: 1, title: "x" }, { id: 2, title: "x", _ifMatch: 'W/"0"' }]);
        assertEquals([lost.status, lost.body.code], [412, "PRECONDITION_FAILED"]);
        assertEquals([lost.body.details.index, lost.body.details.currentETag], [1, tag]);
        const won = await write([{ id: 1, title: method }, { id: 2, title: "y", _ifMatch: tag }]);
        assertEquals([won.status, won.headers.get("etag")], [200, null]);
        assertEquals([await state(1), await state(2)], [[method, 1], ["y", before + 1]]);
        const odd = await write([{ id: 1, title: "x", _ifMatch: 5 }]);
        assertEquals(odd.body.details.errors[0].path, "items.0._ifMatch");
      }
      const items = [{ id: 9, title: "x", _ifMatch: "*" }];
      const absent = await send("POST", "/api/notes/batch/upsert", { items }, ada);
      assertEquals([absent.status, absent.body.details.currentETag], [412, null]);
    }),
);

testOnEngines(
  "batch.incrementVersion increments every version that is not null",
  (engine) =>
    withNotes(engine, { etag: version, batch: { incrementVersion: true } }, async (service) => {
      const { db, get, send } = service;
      await insertRows(db, notes, [
        stored({ id: 1, title: "t", version: 4 }),
        stored({ id: 2, title: "t", version: null }),
        stored({ id: 3, title: "t", updatedAt: "2999-01-01T00:00:00.000Z" }),
      ]);
      const patch = { filter: "id>0", patch: { rank: 1 } };
      assertEquals((await send("PATCH", "/api/notes/batch", patch, ada)).body, { count: 3 });
      const items = [{ id: 1, title: "x" }, { id: 2, title: "x" }];
      await send("POST", "/api/notes/batch/upsert", { items }, ada);
      const { body } = await get("/api/notes?orderBy=id");
      assertEquals(body.items.map((row: Note) => row.version), [6, null, 2]);
      assertEquals(compareInstants(body.items[2].updatedAt, "2999-01-01T00:00:00.000Z"), 1);
      const set = { filter: "id<3", patch: { version: 40 } };
      await send("PATCH", "/api/notes/batch", set, ada);
      assertEquals((await get("/api/notes/2")).body.version, 40);
    }),
);

const places = table("places", {
  shop: text().primaryKey(),
  shelf: integer().primaryKey(),
  title: text(),
});

testOnEngines(
  "batches name rows by all columns of a composite key",
  (engine) =>
    withService(engine, [places], () => ({
      resources: [
        resource(tableInfoOf(places), {
          id: ["shop", "shelf"],
          auth: { ...open, update: () => eq(places.title, "x") },
          batch: { create: 1_500, update: 1_500, delete: 1_500 },
        }),
      ],
    }), async ({ get, send }) => {
      const items = some(1_500, (n) => ({ shop: `s${n % 3}`, shelf: n, title: "x" }));
      const { status, body } = await send("POST", "/api/places/batch", { items }, ada);
      assertEquals([status, body.items], [201, items]);
      const again = items.slice(0, 20).reverse();
      const upserted = await send("POST", "/api/places/batch/upsert", { items: again }, ada);
      assertEquals([upserted.status, upserted.body.items], [200, again]);
      const patch = { filter: "shelf>0", patch: { title: "x" } };
      assertEquals((await send("PATCH", "/api/places/batch", patch, ada)).body, { count: 1_500 });
      const key = { items: [{ shop: "s1" }] };
      assertEquals((await send("PUT", "/api/places/batch", key, ada)).status, 422);
      const gone = await send("DELETE", "/api/places/batch", { filter: "shelf>0" }, ada);
      assertEquals([gone.body, (await get("/api/places/count")).body.count], [{ count: 1_500 }, 0]);
    }),
);

testOnEveryEngine(
  "fifty parallel upserts of the same rows all succeed, whichever is first",
  (engine) =>
    withNotes(engine, {}, async ({ get, send }) => {
      const answers = await Promise.all(some(50, (turn) => {
        const items = some(5, (id) => ({ id, title: `t${turn}` }));
        const shuffled = turn % 2 ? items : items.reverse();
        return send("POST", "/api/notes/batch/upsert", { items: shuffled }, ada);
      }));
      assertEquals(answers.map(({ status }) => status), some(50, () => 200));
      const { body } = await get("/api/notes");
      assertEquals(new Set(body.items.map((row: Note) => row.title)).size, 1);
      assertEquals(body.items.length, 5);
    }),
);

function stored(row: Record<string, unknown>): Record<string, unknown> {
  return { ownerId: "ada", rank: 7, version: 1, ...row };
}
