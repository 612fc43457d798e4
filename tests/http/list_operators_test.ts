import { assertEquals } from "@std/assert";
import { all, has, hasAll, hasAny, integer, json, resource, table } from "../../mod.ts";
import { insertRows, testOnDialects, withService } from "../support/http.ts";

const notes = table("notes", {
  id: integer().primaryKey(),
  tags: json<readonly unknown[]>(),
});

/** By the ids of the rows. */
const documents: Readonly<Record<number, unknown>> = {
  1: ["red", "new"],
  2: ["red", 5, true, null, [6], { a: 7 }],
  3: [],
  4: null,
  5: "red",
  6: { red: "red" },
  7: [5.0, 9007199254740993n, "5"],
  8: ['q"u\\o', "é", ""],
};

const found: Readonly<Record<string, readonly number[]>> = {
  "tags=has=red": [1, 2],
  'tags=has="5"': [7],
  "tags=has=5": [2, 7],
  "tags=has=5.00": [2, 7],
  "tags=has=6": [],
  "tags=has=true": [2],
  'tags=has="true"': [],
  "tags=has=9007199254740993": [7],
  "tags=has=9007199254740992": [],
  'tags=has="q\\"u\\\\o"': [8],
  'tags=has=""': [8],
  "tags=hasany=(new,é)": [1, 8],
  "tags=hasany=(5,true,new)": [1, 2, 7],
  "tags=hasall=(red,new)": [1],
  "tags=hasall=(5,true,red)": [2],
  "tags=hasall=(red,nothing)": [],
  "tags=has=red;id>1": [2],
};

testOnDialects(
  "lists in documents are searched for their items",
  (engine) =>
    withService(engine, [notes], (db) => ({
      changes: { mode: "service" },
      resources: [
        resource(notes, { id: notes.id, auth: { public: true, update: all } }),
        ...Object.entries(scopes).map(([name, scope]) =>
          resource(notes, { path: name, id: notes.id, auth: { read: () => scope, update: all } })
        ),
      ],
      db,
    }), async ({ db, get, send, subscribe }) => {
      await insertRows(
        db,
        notes,
        Object.entries(documents).map(([id, tags]) => ({ id: Number(id), tags })),
      );
      for (const [filter, ids] of Object.entries(found)) {
        const { status, body } = await get(`/api/notes?filter=${encodeURIComponent(filter)}`);
        assertEquals(status, 200, filter);
        assertEquals(body.items.map(({ id }: { id: number }) => id), ids, filter);
      }
      for (const filter of ["tags=has=null", "tags=has=(a,b)", "id=has=1", "tags.0=has=1"]) {
        const { status } = await get(`/api/notes?filter=${encodeURIComponent(filter)}`);
        assertEquals(status, 400, filter);
      }
      const user = { "x-user": "ada" };
      assertEquals((await get("/api/one", user)).body.items.length, 2);
      assertEquals((await get("/api/some", user)).body.items.length, 1);
      assertEquals((await get("/api/every", user)).body.items.length, 1);
      assertEquals((await get("/api/denied", user)).status, 403);
      const stream = await subscribe("/api/notes/subscribe?skipExisting=true&filter=tags=has=red");
      await stream.untilSynced();
      await send("PATCH", "/api/notes/3", { tags: ["red"] }, user);
      const [event] = await stream.take(1);
      assertEquals([event?.type, event?.data.id], ["added", 3]);
      await stream.close();
    }),
);

const scopes = {
  one: has(notes.tags, "red"),
  some: hasAny(notes.tags, ["é", "nothing"]),
  every: hasAll(notes.tags, ["red", 5]),
  denied: hasAny(notes.tags, []),
};
