import { assertEquals, assertMatch, assertRejects } from "@std/assert";
import { all, eq } from "../../src/filter/builders.ts";
import { createMemoryKeyValue } from "../../src/kv/memory_key_value.ts";
import { systemRuntime } from "../../src/runtime/system_runtime.ts";
import { insertRows, testOnEngines, testOnEveryEngine } from "../support/http.ts";
import { ada, notes, sent, toldSoFar, withNotes } from "./notes.ts";
import { engines } from "../support/engines.ts";

const [sqlite] = engines;
if (sqlite === undefined) throw new Error("There is an engine");

testOnEveryEngine(
  "a stream begins with the rows, and continues with their changes",
  (engine) =>
    withNotes(engine, {}, async ({ db, send, subscribe }) => {
      await insertRows(db, notes, [{ id: 1, title: "a", version: 1, secret: "xyzzy-1" }]);
      const stream = await subscribe("/api/notes/subscribe");
      assertEquals(await stream.untilSynced(), [
        {
          type: "existing",
          data: {
            type: "existing",
            items: [{ id: 1, ownerId: null, title: "a", rank: null }],
            hasMore: false,
          },
        },
      ]);
      assertMatch(await stream.untilToken(), /^[sp]\./);
      await send("POST", "/api/notes", { id: 2, title: "b", secret: "xyzzy-2" }, ada);
      const [added] = await stream.take(1);
      const { seq } = added?.data;
      assertEquals(added?.data, {
        type: "added",
        seq,
        id: 2,
        item: { id: 2, ownerId: null, title: "b", rank: null },
      });
      await send("DELETE", "/api/notes/2", undefined, ada);
      const [removed] = await stream.take(1);
      assertEquals(removed?.data, { type: "removed", seq: removed?.data.seq, id: 2 });
      await stream.close();
    }),
);

Deno.test("the first bytes of a stream come at once, and no proxy may keep them", () =>
  withNotes(sqlite, {}, async ({ subscribe, app }) => {
    const stream = await subscribe("/api/notes/subscribe");
    const { headers } = stream.response;
    assertEquals(headers.get("content-type"), "text/event-stream; charset=utf-8");
    assertEquals(headers.get("cache-control"), "no-store, no-transform");
    assertEquals(headers.get("x-accel-buffering"), "no");
    await stream.untilSynced();
    assertMatch(stream.text, /^retry: [1-5]\d{3}\n\n/);
    await stream.close();
    const head = await app.fetch(
      new Request("http://test/api/notes/subscribe", { method: "HEAD" }),
    );
    assertEquals([head.status, head.headers.get("content-type"), await head.text()], [
      200,
      "text/event-stream; charset=utf-8",
      "",
    ]);
  }));

Deno.test("what cannot be followed is refused before the stream opens", () =>
  withNotes(sqlite, {}, async ({ get, send }) => {
    const status = async (query: string) => (await get(`/api/notes/subscribe${query}`)).status;
    assertEquals(await status("?filter=secret==x"), 400);
    assertEquals(await status("?filter=nothing==x"), 400);
    assertEquals(await status("?filter=id=="), 400);
    assertEquals(await status("?filter=owner.name==x"), 400);
    assertEquals(await status("?skipExisting=yes"), 400);
    assertEquals((await send("POST", "/api/notes/subscribe", {}, ada)).status, 405);
  }));

Deno.test("a filter of an unrecorded column is refused: a silent stream would be taken for a quiet one", async () => {
  const fields = { readable: [notes.id, notes.title, notes.rank, notes.secret] };
  const config = { changes: { exclude: [notes.secret, notes.deletedAt] } };
  await withNotes(sqlite, { fields }, async ({ get }) => {
    const refused = await get("/api/notes/subscribe?filter=rank==1,secret==x");
    assertEquals([refused.status, refused.body.code], [400, "INVALID_PARAMETER"]);
    assertMatch(refused.body.detail, /"secret", whose changes are not recorded/);
    assertEquals((await get("/api/notes?filter=secret==x")).status, 200);
  }, config);
  const auth = { read: () => all(), subscribe: () => eq(notes.secret, "xyzzy-1") };
  await withNotes(sqlite, { fields, auth }, async ({ get, observations }) => {
    assertEquals((await get("/api/notes/subscribe", ada)).status, 500);
    const failed = observations.find(({ kind }) => kind === "request_failed");
    assertMatch(Deno.inspect(failed), /a scope asks about "secret"/);
  }, config);
  await assertRejects(
    () => withNotes(sqlite, { softDelete: { field: "deletedAt" } }, async () => {}, config),
    Error,
    'Cannot follow "notes": "changes.exclude" names "deletedAt", which marks its rows deleted',
  );
});

Deno.test("there are no streams where they are switched off, or changes are not recorded", async () => {
  const status = (options: Parameters<typeof withNotes>[1]) => {
    let found = 0;
    return withNotes(sqlite, options, async ({ get }) => {
      found = (await get("/api/notes/subscribe", ada)).status;
    }).then(() => found);
  };
  assertEquals(await status({ capabilities: { enableSubscribe: false } }), 404);
  assertEquals(await status({ auth: { read: () => all() } }), 403);
  assertEquals(await status({ auth: { subscribe: (user) => eq(notes.ownerId, user.name) } }), 403);
});

Deno.test("a stream shows computed values and tags, and what select leaves", () =>
  withNotes(sqlite, {
    computed: { hint: (row) => `${row.secret?.length ?? 0} secret letters` },
    etag: { versionField: notes.version },
    fields: { readable: [notes.id, notes.title, notes.version] },
  }, async (service) => {
    const { db, send, subscribe } = service;
    await insertRows(db, notes, [{ id: 1, title: "a", version: 7, secret: "xyzzy-1" }]);
    const stream = await subscribe("/api/notes/subscribe?select=id");
    const hint = "7 secret letters";
    assertEquals((await stream.untilSynced())[0]?.data.items, [{ id: 1, hint, _etag: 'W/"7"' }]);
    await send("PATCH", "/api/notes/1", { title: "b" }, ada);
    const [changed] = await stream.take(1);
    assertEquals(changed?.data.item, { id: 1, hint, _etag: 'W/"8"' });
    await stream.close();
  }));

testOnEngines(
  "a client finds its own new row by the name that it gave it",
  (engine) =>
    withNotes(engine, {}, async (service) => {
      const { send, subscribe } = service;
      const stream = await subscribe("/api/notes/subscribe");
      await stream.untilSynced();
      const create = (id: number, name: string) =>
        send("POST", "/api/notes", { id, title: "a" }, { ...ada, "service-optimistic-id": name });
      const { status, body } = await create(1, "tmp 1");
      assertEquals([status, body._optimisticId], [201, "tmp 1"]);
      await send("PATCH", "/api/notes/1", { title: "b" }, ada);
      const [added, changed] = await stream.take(2);
      assertEquals(added?.data.item._optimisticId, "tmp 1");
      assertEquals("_optimisticId" in changed?.data.item, false);
      assertEquals((await create(2, "x".repeat(201))).status, 400);
      assertEquals((await create(2, "")).status, 400);
      assertEquals((await create(1, "taken")).status, 409);
      assertEquals(await toldSoFar(stream, service), []);
      await stream.close();
    }),
);

testOnEngines(
  "skipExisting leaves the snapshot away, and nothing that comes after",
  (engine) =>
    withNotes(engine, {}, async (service) => {
      const { db, send, subscribe } = service;
      await insertRows(db, notes, [{ id: 1, title: "a", version: 1 }]);
      const stream = await subscribe("/api/notes/subscribe?skipExisting=true");
      assertEquals((await stream.untilSynced()).map(sent), ["existing "]);
      await send("PATCH", "/api/notes/1", { title: "b" }, ada);
      assertEquals(await toldSoFar(stream, service), ["changed 1 b"]);
      await stream.close();
    }),
);

Deno.test("streams have their limits, by user and by address", () =>
  withNotes(sqlite, {}, async ({ subscribe, get }) => {
    const info = (hostname: string) => ({ remoteAddr: { transport: "tcp", hostname } });
    const open = (user: string, hostname: string) =>
      subscribe("/api/notes/subscribe", user === "" ? {} : { "x-user": user }, info(hostname));
    const streams = [await open("ada", "10.0.0.1"), await open("ada", "10.0.0.2")];
    await assertRejects(() => open("ada", "10.0.0.3"), Error, "429");
    streams.push(await open("bob", "10.0.0.1"), await open("", "10.0.0.1"));
    await assertRejects(() => open("eve", "10.0.0.1"), Error, "429");
    const refused = await get("/api/notes/subscribe", ada);
    assertEquals(refused.body.code, "RATE_LIMIT_EXCEEDED");
    assertMatch(refused.headers.get("retry-after") ?? "", /^\d+$/);
    await streams[0]?.close();
    streams.push(await open("ada", "10.0.0.1"));
    for (const stream of streams) await stream.close();
  }, { subscribe: { maxPerUser: 2, maxPerAddress: 3 } }));

Deno.test("the limits of streams count in one process, and not over all of them", async () => {
  const kv = createMemoryKeyValue(systemRuntime(() => {}).clock);
  const config = {
    kv: { ...kv, close: () => Promise.resolve() },
    subscribe: { maxPerUser: 1, maxPerAddress: 1 },
  };
  await withNotes(sqlite, {}, (one) =>
    withNotes(sqlite, {}, async (other) => {
      const open = ({ subscribe }: typeof one) => subscribe("/api/notes/subscribe", ada);
      const streams = [await open(one), await open(other)];
      await assertRejects(() => open(one), Error, "429");
      for (const stream of streams) await stream.close();
    }, config), config);
});

testOnEveryEngine(
  "without triggers the writes of the service are sent all the same",
  (engine) =>
    withNotes(engine, {}, async (service) => {
      const { db, send, subscribe } = service;
      const stream = await subscribe("/api/notes/subscribe");
      await stream.untilSynced();
      await send("POST", "/api/notes", { id: 1, title: "a" }, ada);
      await send("PATCH", "/api/notes/batch", { filter: "id==1", patch: { title: "b" } }, ada);
      await send("DELETE", "/api/notes/1", undefined, ada);
      assertEquals(await toldSoFar(stream, service), ["added 1 a", "changed 1 b", "removed 1"]);
      const { rows } = await db.driver.query({
        text: db.dialect.engine === "sqlite"
          ? "SELECT name FROM sqlite_schema WHERE type = 'trigger'"
          : "SELECT tgname FROM pg_trigger WHERE NOT tgisinternal",
        values: [],
      });
      assertEquals(rows, []);
      await stream.close();
    }, { changes: { mode: "service" } }),
);
