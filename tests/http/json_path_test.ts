import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { createApp, integer, json, resource, rsql, table, text } from "../../mod.ts";
import { systemRuntime } from "../../src/runtime/system_runtime.ts";
import { openEventStream } from "../support/event_stream.ts";
import { testOnEngines, withService } from "../support/http.ts";
import { run } from "../support/scratch.ts";

const notes = table("notes", { id: integer().primaryKey(), data: json(), owner: text() });
const scoped = table("scoped", { id: integer().primaryKey(), data: json(), owner: text() });
const parts = table("parts", { id: integer().primaryKey(), noteId: integer() });

/** The texts of documents as they are stored, by id, counted from 1. */
const documents: readonly (string | null)[] = [
  '{"v":1,"address":{"city":"Lima"},"tags":["x","y"]}',
  '{"v":1.0,"address":{"city":"lima"},"tags":["y"]}',
  '{"v":"1","address":{"city":null},"tags":{"0":"x"}}',
  '{"v":true,"address":{},"a.b":1,"say \\"hi\\"":"\\\\","":0}',
  '{"v":false,"address":[],"tags":[]}',
  '{"v":null}',
  '{"v":[1]}',
  '{"v":{"v":1}}',
  '{"v":-2.5e1}',
  '{"v":9007199254740993}',
  '{"v":0.1234567890123456789}',
  '{"v":""}',
  '{"v":"Ä👍\\ud83d\\ude00z"}',
  '{"v":"true"}',
  '[[10,20],{"v":1}]',
  '"v"',
  "null",
  null,
  '{"v":1e300}',
  '{"v":12345678901234567890123}',
];

/** A filter, in which `v` stands for a path, and the documents that pass. */
const cases: readonly (readonly [filter: string, ids: readonly number[]])[] = [
  ["d.v==1", [1, 2]],
  ["d.v==1.00", [1, 2]],
  ['d.v=="1"', [3]],
  ["d.v=='1'", [3]],
  ["d.v==true", [4]],
  ['d.v=="true"', [14]],
  ["d.v==false", [5]],
  ["d.v==null", [6, 15, 16, 17, 18]],
  ["d.v=isnull=true", [6, 15, 16, 17, 18]],
  ["d.v!=null", [1, 2, 3, 4, 5, 7, 8, 9, 10, 11, 12, 13, 14, 19, 20]],
  ["d.v=isnull=false", [1, 2, 3, 4, 5, 7, 8, 9, 10, 11, 12, 13, 14, 19, 20]],
  ["d.v!=1", [3, 4, 5, 7, 8, 9, 10, 11, 12, 13, 14, 19, 20]],
  ["d.v!=true", [1, 2, 3, 5, 7, 8, 9, 10, 11, 12, 13, 14, 19, 20]],
  ["d.v<1", [9, 11]],
  ["d.v<=1", [1, 2, 9, 11]],
  ["d.v>1", [10, 19, 20]],
  ["d.v==-25", [9]],
  ["d.v==9007199254740993", [10]],
  ["d.v==9007199254740992", []],
  ["d.v>9007199254740992", [10, 19, 20]],
  ["d.v==0.1234567890123456789", [11]],
  ["d.v==0.123456789012345678", []],
  ["d.v>0.123456789012345678;d.v<1", [11]],
  ["d.v==12345678901234567890123", [20]],
  ["d.v==1e300", [19]],
  ["d.v=between=(0,1)", [1, 2, 11]],
  ["d.v=nbetween=(0,1e20)", [9, 19, 20]],
  ["d.v=between=(a,z)", [14]],
  ['d.v>""', [3, 13, 14]],
  ["d.v=in=(1,true,'1')", [1, 2, 3, 4]],
  ["d.v=out=(1,true,'1')", [5, 7, 8, 9, 10, 11, 12, 13, 14, 19, 20]],
  ["d.v=isempty=true", [6, 12, 15, 16, 17, 18]],
  ["d.v=isempty=false", [1, 2, 3, 4, 5, 7, 8, 9, 10, 11, 13, 14, 19, 20]],
  ["d.v=length=4", [13, 14]],
  ["d.v=contains=👍", [13]],
  ["d.v%=%r_e", [14]],
  ["d.v!%=%r_e", [3, 12, 13]],
  ["d.v=icontains=ä", [13]],
  ["d.v=endswith='😀z'", [13]],
  ["d.address.city==Lima", [1]],
  ["d.address.city=ieq=LIMA", [1, 2]],
  ["d.address.city!=Lima", [2]],
  ["d.address.city=in=(Lima,lima)", [1, 2]],
  ["d.address.city==null;d.v!=null", [3, 4, 5, 7, 8, 9, 10, 11, 12, 13, 14, 19, 20]],
  ["d.address!=null", [1, 2, 3, 4, 5]],
  ["d.tags.0==x", [1, 3]],
  ["d.tags.1==y", [1]],
  ["d.tags.-1==y", []],
  ["d.tags.00==x", []],
  ["d.v.v==1", [8]],
  ["d.v.0==1", [7]],
  ["d.0.1==20", [15]],
  ["d.1.v==1", [15]],
  ['d."a.b"==1', [4]],
  [String.raw`d."say \"hi\""=="\\"`, [4]],
  ['d.""==0', [4]],
  ["d.a.b==1", []],
];

testOnEngines(
  "values within documents are filtered by path, alike on every engine",
  (engine) =>
    withService(
      engine,
      [notes, scoped, parts],
      () => ({
        resources: [
          resource(notes, {
            id: notes.id,
            auth: { public: true, create: () => rsql`data.v==${1}`, update: () => rsql`owner==a` },
            fields: { readable: ["id", "data", "owner"], filterable: ["id", "data"] },
          }),
          resource(scoped, {
            id: scoped.id,
            auth: { read: ({ id }) => rsql`data.owners.0==${id === "nobody" ? undefined : id}` },
            fields: { filterable: ["id"] },
          }),
          resource(parts, {
            id: parts.id,
            auth: { public: true },
            relations: {
              note: { type: "belongsTo", resource: notes, foreignKey: "noteId", filterable: true },
            },
          }),
        ],
      }),
      async ({ db, get, send, subscribe }) => {
        for (const [index, document] of documents.entries()) {
          await run(db, "INSERT INTO notes (id, data) VALUES (?, ?)", index + 1, document);
        }
        await run(db, `INSERT INTO scoped VALUES (1, '{"owners":["ada"]}', NULL)`);
        await run(db, `INSERT INTO parts VALUES (1, 1), (2, 2)`);
        const filtered = (path: string, filter: string, user = "ada") =>
          get(`${path}?limit=100&filter=${encodeURIComponent(filter)}`, { "x-user": user });
        const ids = async (path: string, filter: string) => {
          const { body } = await filtered(path, filter);
          return body.items?.map(({ id }: { id: number }) => id) ?? body.detail;
        };
        for (const [filter, expected] of cases) {
          const own = filter.replaceAll(/\bd\./g, "data.");
          assertEquals(await ids("/api/notes", own), expected, own);
        }
        assertEquals(await ids("/api/parts", "note.data.address.city==Lima"), [1]);

        for (
          const [filter, message] of [
            [
              "data.v>true",
              'Cannot filter by "data": "true" must be a number or a string to have an',
            ],
            ["data.v=between=(1,a)", '"a" must be of the type of the other value'],
            ["data.v==1e2000", "must be a number of at most 1000 digits"],
            ["owner.v==1", 'Cannot filter by "owner.v" at 0: there is no field of this name'],
            ["id.v==1", 'Cannot filter by "id.v" at 0: there is no field of this name'],
            ["data.a.b.c.d.e.f.g.h.i.j.k==1", "at most 10 names within a document"],
            ["data.0.0.0.0==1", "at most 3 indexes within a document"],
            ["data==1", "does not fit its kind, json"],
          ] as const
        ) {
          const { status, body } = await filtered("/api/notes", filter);
          assertEquals(status, 400, filter);
          assertStringIncludes(body.detail, message);
        }
        assertEquals((await filtered("/api/scoped", "data.owners.0==ada")).status, 400);
        assertEquals((await get("/api/scoped", { "x-user": "ada" })).body.items.length, 1);
        assertEquals((await get("/api/scoped", { "x-user": "eve" })).body.items, []);
        // A missing value of the user grants access to nothing.
        assertEquals((await get("/api/scoped", { "x-user": "nobody" })).status, 403);
        for (const order of ["data.v.desc", 'data."a b" desc', "-data.v:desc"]) {
          const { status, body } = await get(`/api/notes?orderBy=${encodeURIComponent(order)}`);
          assertEquals(status, 400);
          assertStringIncludes(body.detail, "write field:asc, field:desc or -field");
        }

        // The database decides for a stream, also about a row as a change left it.
        const stream = await subscribe(
          `/api/notes/subscribe?filter=${encodeURIComponent("data.v==7.50,data.v==1;id>50")}`,
        );
        await stream.untilSynced();
        const created = async (id: number, v: unknown) =>
          (await send("POST", "/api/notes", { id, data: { v } }, { "x-user": "ada" })).status;
        assertEquals([await created(90, "1"), await created(91, 1)], [403, 201]);
        const event = await stream.next();
        assertEquals([event?.type, event?.data.id], ["added", 91]);
        await stream.close();
      },
    ),
);

testOnEngines("values within documents of existing tables are filtered by path", async (engine) => {
  const db = await engine.open();
  const isSqlite = engine.name.includes("sqlite");
  await run(
    db,
    isSqlite
      ? "CREATE TABLE docs (id INTEGER PRIMARY KEY, jsonb JSON, json JSON)"
      : "CREATE TABLE docs (id int PRIMARY KEY, jsonb jsonb, json json)",
  );
  for (const [index, document] of documents.entries()) {
    await run(db, "INSERT INTO docs VALUES (?, ?, ?)", index + 1, document, document);
  }
  // What no engine can look into has no values within it.
  const odd = isSqlite
    ? ["{", "x'7b'", "5"]
    : [String.raw`{"v":"\u0000"}`, String.raw`{"v":1,"w":"\ud800"}`, '{"v":1e99999}'];
  for (const [index, document] of odd.entries()) {
    await run(db, `INSERT INTO docs VALUES (?, NULL, ?)`, 100 + index, document);
  }
  const [info] = (await db.introspect()).tables;
  assert(info !== undefined);
  const app = await createApp({
    db,
    secret: "a secret for the tests only",
    changes: { mode: "triggers" },
    runtime: { ...systemRuntime(() => {}), cron: undefined },
    resources: [resource(info, { id: "id", auth: { public: true } })],
  });
  try {
    for (const column of ["jsonb", "json"]) {
      for (const [filter, expected] of cases) {
        const own = `id<100;(${filter.replaceAll(/\bd\./g, `${column}.`)})`;
        const url = `http://test/api/docs?limit=100&filter=${encodeURIComponent(own)}`;
        const { items, detail } = await (await app.fetch(new Request(url))).json();
        assertEquals(items?.map(({ id }: { id: number }) => id) ?? detail, expected, own);
      }
    }
    const url = `http://test/api/docs?filter=${encodeURIComponent("json.v==1,json.v>0")}`;
    const { items } = await (await app.fetch(new Request(url))).json();
    assertEquals(items?.filter(({ id }: { id: number }) => id >= 100), []);
    // Such a row does not end a stream whose filter the database evaluates.
    const stream = await openEventStream(
      (signal) =>
        app.fetch(
          new Request(
            `http://test/api/docs/subscribe?filter=${encodeURIComponent("json.v==7.50")}`,
            {
              signal,
            },
          ),
        ),
      () => {},
    );
    await stream.untilSynced();
    for (const [index, document] of [...odd, '{"w":-1e99999,"v":7.5,"x":"1e99999"}'].entries()) {
      await run(db, `INSERT INTO docs VALUES (?, NULL, ?)`, 200 + index, document);
    }
    const event = await stream.next();
    assertEquals([event?.type, event?.data.id], ["added", 203]);
    await stream.close();
  } finally {
    await app.close();
    await db.close();
  }
});
