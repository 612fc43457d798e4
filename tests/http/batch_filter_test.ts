import { assertEquals } from "@std/assert";
import { eq, or, Problem } from "../../mod.ts";
import { insertRows, testOnEngines } from "../support/http.ts";
import { ada, notes, some, withNotes } from "./batch_support.ts";

testOnEngines(
  "PATCH /batch over 10,000 rows with a limit of 100 is refused at once",
  (engine) => {
    let hooks = 0;
    return withNotes(engine, {
      hooks: {
        onBeforeUpdate: () => void hooks++,
        onAfterUpdate: () => void hooks++,
        onBeforeDelete: () => void hooks++,
      },
    }, async ({ db, get, send }) => {
      const { dialect } = db.driver;
      const numbers = dialect.maxValues > 40_000
        ? "SELECT generate_series(1, 10000) AS n"
        : "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 10000) SELECT n FROM c";
      await db.driver.query({
        text: `INSERT INTO notes (id, owner_id, title) SELECT n, 'ada', 't' FROM (${numbers}) AS s`,
        values: [],
      });
      const times: number[] = [];
      for (let turn = 0; turn < 3; turn++) {
        const startedAt = performance.now();
        const body = { filter: "title==t", patch: { title: "x" } };
        const refused = await send("PATCH", "/api/notes/batch", body, ada);
        times.push(performance.now() - startedAt);
        assertEquals([refused.status, refused.body.code], [400, "BATCH_LIMIT_EXCEEDED"]);
        assertEquals(refused.body.details, { limit: 100 });
      }
      assertEquals(Math.min(...times) < 100, true, `${times} ms`);
      // A body has room for the keys of a thousand rows.
      const ids = Array.from({ length: 1_000 }, (_, index) => index + 1);
      const keys = { filter: `id=in=(${ids})`, patch: { title: "x" } };
      const { body: { code } } = await send("PATCH", "/api/notes/batch", keys, ada);
      assertEquals(code, "BATCH_LIMIT_EXCEEDED");
      const removal = await send("DELETE", "/api/notes/batch", { filter: "title==t" }, ada);
      assertEquals([removal.status, hooks], [400, 0]);
      assertEquals((await get("/api/notes/count?filter=title==t")).body, { count: 10_000 });
      const body = { filter: "id<=100", patch: { title: "x" } };
      assertEquals((await send("PATCH", "/api/notes/batch", body, ada)).body, { count: 100 });
      assertEquals(hooks, 200);
    });
  },
);

testOnEngines(
  "PATCH and DELETE /batch reach what the caller may see and write, and no further",
  (engine) =>
    withNotes(engine, {
      auth: {
        read: (user) => or(eq(notes.ownerId, user.id), eq(notes.ownerId, "all")),
        update: (user) => or(eq(notes.ownerId, user.id), eq(notes.ownerId, "hidden")),
        delete: (user) => eq(notes.ownerId, user.id),
      },
    }, async ({ db, get, send }) => {
      const owners = ["ada", "bob", "all", "hidden", "ada"];
      await insertRows(
        db,
        notes,
        owners.map((ownerId, index) => ({ id: index + 1, ownerId, title: "t" })),
      );
      const patched = { filter: "title==t", patch: { title: "x", rank: 1 } };
      assertEquals((await send("PATCH", "/api/notes/batch", patched, ada)).body, { count: 2 });
      const moved = { filter: "id==1,id==5", patch: { ownerId: "bob" } };
      assertEquals((await send("PATCH", "/api/notes/batch", moved, ada)).status, 403);
      const anonymous = await send("PATCH", "/api/notes/batch", patched);
      assertEquals([
        anonymous.status,
        (await send("POST", "/api/notes/batch", { items: [] }, ada))
          .status,
      ], [401, 403]);
      const removed = { filter: "id>0" };
      assertEquals((await send("DELETE", "/api/notes/batch", removed, ada)).body, { count: 2 });
      const { rows } = await db.driver.query({
        text: "SELECT id, title FROM notes ORDER BY id",
        values: [],
      });
      assertEquals(rows.map(([id, title]) => [Number(id), title]), [[2, "t"], [3, "t"], [4, "t"]]);
      assertEquals((await get("/api/notes/count", ada)).body, { count: 1 });
    }),
);

testOnEngines(
  "a change of the filtered column still counts every row, and hooks run for each",
  (engine) => {
    const calls: string[] = [];
    return withNotes(engine, {
      fields: { writable: [notes.title] },
      hooks: {
        onBeforeUpdate: (_context, id, patch) => {
          calls.push(`before ${id} ${JSON.stringify(patch)}`);
          return id === 2 ? { ...patch, slug: "by hook" } : undefined;
        },
        onAfterUpdate: async ({ db }, row) => {
          const { rows } = await db.query({
            text: "SELECT count(*) FROM notes WHERE title = 'x'",
            values: [],
          });
          calls.push(`after ${row.id} ${row.title} ${row.slug}, ${Number(rows[0]?.[0])} so far`);
        },
        onBeforeDelete: (_context, id) => void calls.push(`before delete ${id}`),
        onAfterDelete: (_context, id) => {
          calls.push(`after delete ${id}`);
          if (id === 3) throw new Problem("conflict", "Not this one");
        },
      },
    }, async ({ db, get, send }) => {
      await insertRows(db, notes, some(3, (id) => owned({ id, title: "t" })));
      const patch = { filter: "title==t", patch: { title: "x", rank: 99 } };
      assertEquals((await send("PATCH", "/api/notes/batch", patch, ada)).body, { count: 3 });
      assertEquals(calls.splice(0), [
        'before 1 {"title":"x"}',
        'before 2 {"title":"x"}',
        'before 3 {"title":"x"}',
        "after 1 x null, 3 so far",
        "after 2 x by hook, 3 so far",
        "after 3 x null, 3 so far",
      ]);
      const empty = { filter: "id>0", patch: {} };
      assertEquals((await send("PATCH", "/api/notes/batch", empty, ada)).body, { count: 3 });
      calls.length = 0;
      assertEquals((await send("DELETE", "/api/notes/batch", { filter: "id>1" }, ada)).status, 409);
      assertEquals(calls, [
        "before delete 2",
        "before delete 3",
        "after delete 2",
        "after delete 3",
      ]);
      assertEquals((await get("/api/notes/count")).body, { count: 3 });
      assertEquals((await send("DELETE", "/api/notes/batch", { filter: "id<3" }, ada)).body, {
        count: 2,
      });
    });
  },
);

testOnEngines(
  "a row that stopped matching after PATCH /batch had found it was changed",
  (engine) => {
    let isFirst = true;
    return withNotes(engine, {
      hooks: {
        onBeforeUpdate: async ({ db }) => {
          if (isFirst) {
            await db.query({ text: "UPDATE notes SET title = 'u' WHERE id = 2", values: [] });
          }
          isFirst = false;
        },
      },
    }, async ({ db, get, send }) => {
      await insertRows(db, notes, some(3, (id) => owned({ id, title: "t" })));
      const patch = { filter: "title==t", patch: { title: "x" } };
      assertEquals((await send("PATCH", "/api/notes/batch", patch, ada)).body, { count: 2 });
      assertEquals((await get("/api/notes/2")).body.title, "u");
    });
  },
);

testOnEngines(
  "DELETE /batch marks rows where a resource keeps deleted ones, and never twice",
  (engine) =>
    withNotes(engine, { softDelete: { field: notes.deletedAt } }, async ({ db, get, send }) => {
      await insertRows(db, notes, some(4, (id) => owned({ id, title: "t" })));
      const remove = async (filter: string) =>
        (await send("DELETE", "/api/notes/batch", { filter }, ada)).body;
      assertEquals(await remove("id<=3"), { count: 3 });
      assertEquals(await remove("id<=4"), { count: 1 });
      assertEquals((await get("/api/notes/count")).body, { count: 0 });
      assertEquals((await get("/api/notes/count?withDeleted=true")).body, { count: 4 });
      const patch = { filter: "id>0", patch: { title: "x" } };
      assertEquals((await send("PATCH", "/api/notes/batch", patch, ada)).body, { count: 0 });
      assertEquals((await send("POST", "/api/notes/3/restore", undefined, ada)).status, 200);
    }),
);

testOnEngines(
  "fifty parallel batches each succeed or fail as a whole",
  (engine) =>
    withNotes(engine, {}, async ({ db, get, send }) => {
      const create = (turn: number) =>
        send("POST", "/api/notes/batch", {
          items: some(4, (n) => ({
            id: turn * 10 + n,
            title: `b${turn}`,
            slug: n === 4 ? `s${turn % 10}` : null,
          })),
        }, ada);
      const created = await Promise.all(some(50, create));
      assertEquals(created.filter(({ status }) => status === 201).length, 10);
      assertEquals(created.filter(({ status }) => status === 409).length, 40);
      assertEquals((await get("/api/notes/count")).body, { count: 40 });
      const patched = await Promise.all(some(50, (turn) =>
        send("PATCH", "/api/notes/batch", {
          filter: turn % 2 ? "id>0" : "rank==7",
          patch: { title: `p${turn}` },
        }, ada)));
      assertEquals(
        patched.map(({ status, body }) => [status, body.count]),
        some(50, () => [200, 40]),
      );
      const { rows } = await db.driver.query({
        text: "SELECT DISTINCT title FROM notes",
        values: [],
      });
      assertEquals(rows.length, 1);
      const removed = await Promise.all(
        some(50, () => send("DELETE", "/api/notes/batch", { filter: "id>0" }, ada)),
      );
      const counts = removed.map(({ body }) => body.count).filter((count) => count > 0);
      assertEquals(counts, [40]);
    }),
);

function owned(row: Record<string, unknown>): Record<string, unknown> {
  return { ownerId: "ada", rank: 7, version: 1, ...row };
}
