import { assert, assertEquals } from "@std/assert";
import { all } from "../../src/filter/builders.ts";
import { engines } from "../support/engines.ts";
import type { EventStream, ServerEvent } from "../support/event_stream.ts";
import { insertRows, type Service, testOnDialects, testOnEveryEngine } from "../support/http.ts";
import { run } from "../support/scratch.ts";
import { ada, notes, withNotes } from "./notes.ts";

const [sqlite] = engines;
if (sqlite === undefined) throw new Error("There is an engine");

const named = (id: string) => ({ ...ada, "service-optimistic-id": id });

/** An event as its kind, its row and its optimistic id. */
function echo({ type, data }: ServerEvent): string {
  const id = data.item?._optimisticId ?? data._optimisticId ?? "-";
  return `${type} ${data.id} ${id}`;
}

/** The events up to a mark that is written last. */
async function echoes(stream: EventStream, { send }: Service): Promise<readonly string[]> {
  await send("POST", "/api/notes", { id: 999, title: "mark", rank: 9 }, ada);
  await send("DELETE", "/api/notes/999", undefined, ada);
  using _ = keepAlive();
  const found: string[] = [];
  while (true) {
    const [event] = await stream.take(1);
    if (event === undefined) throw new Error("unreachable");
    const line = echo(event);
    if (line === "removed 999 -") return found;
    if (line !== "added 999 -") found.push(line);
  }
}

/** Nothing else keeps the process alive while a stream catches up. */
function keepAlive(): Disposable {
  const timer = setInterval(() => {}, 1_000);
  return { [Symbol.dispose]: () => clearInterval(timer) };
}

const options = {
  softDelete: { field: "deletedAt" },
  auth: { public: true, create: () => all(), update: () => all(), delete: () => all() },
} as const;

for (const mode of ["triggers", "service"] as const) {
  testOnEveryEngine(
    `every write of one row is echoed by its own event, by ${mode}`,
    (engine) =>
      withNotes(engine, { etag: { versionField: notes.version } }, async (service) => {
        const { send, subscribe, db } = service;
        await insertRows(db, notes, [{ id: 1, title: "a", rank: 1, version: 1 }]);
        const stream = await subscribe("/api/notes/subscribe?filter=rank>0");
        await stream.untilSynced();
        const write = async (method: string, path: string, body: unknown, id: string) => {
          const answer = await send(method, `/api/notes${path}`, body, named(id));
          return [answer.status, answer.body?._optimisticId];
        };
        assertEquals(await write("POST", "", { id: 2, title: "b", rank: 1 }, "c2"), [201, "c2"]);
        assertEquals(await write("PATCH", "/1", { title: "b" }, "u1"), [200, "u1"]);
        assertEquals(await write("PUT", "/1", { title: "c", rank: 2 }, "p1"), [200, "p1"]);
        // It leaves the filter, and enters it again.
        assertEquals(await write("PATCH", "/1", { rank: 0 }, "leaves"), [200, "leaves"]);
        assertEquals(await write("PATCH", "/1", { title: "unseen" }, "unseen"), [200, "unseen"]);
        assertEquals(await write("PATCH", "/1", { rank: 3 }, "enters"), [200, "enters"]);
        // The same values: the version is counted up all the same.
        assertEquals(await write("PATCH", "/1", { rank: 3 }, "same"), [200, "same"]);
        assertEquals(await write("PATCH", "/1", {}, "nothing"), [200, "nothing"]);
        assertEquals(await write("DELETE", "/1", undefined, "d1"), [204, undefined]);
        assertEquals(await write("DELETE", "/1", undefined, "gone"), [404, undefined]);
        assertEquals(await echoes(stream, service), [
          "added 2 c2",
          "changed 1 u1",
          "changed 1 p1",
          "removed 1 leaves",
          "added 1 enters",
          "changed 1 same",
          "changed 1 nothing",
          "removed 1 d1",
        ]);
        const mine = send("PATCH", "/api/notes/2", { title: "x" }, named("x".repeat(201)));
        assertEquals((await mine).status, 400);
        // The id belongs to one write, and to no later one of the row.
        await send("PATCH", "/api/notes/2", { title: "later" }, ada);
        assertEquals(await echoes(stream, service), ["changed 2 -"]);
        await stream.close();
      }, { changes: { mode } }),
  );

  testOnDialects(
    `a mark of deletion and a restore are echoed, by ${mode}`,
    (engine) =>
      withNotes(engine, options, async (service) => {
        const { send, subscribe, db } = service;
        await insertRows(db, notes, [{ id: 1, title: "a", rank: 1, version: 1 }]);
        const stream = await subscribe("/api/notes/subscribe");
        await stream.untilSynced();
        await send("DELETE", "/api/notes/1", undefined, named("d"));
        const restored = await send("POST", "/api/notes/1/restore", undefined, named("r"));
        assertEquals([restored.status, restored.body._optimisticId], [200, "r"]);
        // Without a version there is nothing that an empty body would write, and so no event.
        const empty = await send("PATCH", "/api/notes/1", {}, named("empty"));
        assertEquals([empty.status, "_optimisticId" in empty.body], [200, false]);
        await send("PATCH", "/api/notes/1", { title: "a" }, named("same"));
        assertEquals(await echoes(stream, service), ["removed 1 d", "added 1 r", "changed 1 same"]);
        await stream.close();
      }, { changes: { mode } }),
  );

  testOnEveryEngine(
    `each item of a batch has an id of its own, by ${mode}`,
    (engine) =>
      withNotes(engine, {}, async (service) => {
        const { send, subscribe } = service;
        const stream = await subscribe("/api/notes/subscribe");
        await stream.untilSynced();
        const batch = async (method: string, path: string, items: readonly unknown[]) => {
          const { status, body } = await send(method, `/api/notes/batch${path}`, { items }, ada);
          const ids = body.items?.map((item: Record<string, unknown>) => item["_optimisticId"]);
          return [status, ...ids ?? [body.detail]];
        };
        assertEquals(
          await batch("POST", "", [
            { id: 1, title: "a", _optimisticId: "c1" },
            { id: 2, title: "b" },
            { id: 3, title: "c", _optimisticId: "c3" },
          ]),
          [201, "c1", undefined, "c3"],
        );
        assertEquals(
          await batch("PUT", "", [
            { id: 3, title: "d", _optimisticId: "p3" },
            { id: 1, title: "e", _optimisticId: "p1" },
            { id: 2, title: "f", _optimisticId: null },
          ]),
          [200, "p3", "p1", undefined],
        );
        assertEquals(
          await batch("POST", "/upsert", [
            { id: 4, title: "g", _optimisticId: "new" },
            { id: 1, title: "h", _optimisticId: "old" },
            { id: 2, title: "i" },
          ]),
          [200, "new", "old", undefined],
        );
        assertEquals((await echoes(stream, service)).toSorted(), [
          ...["added 1 c1", "added 2 -", "added 3 c3", "added 4 new"],
          ...["changed 1 old", "changed 1 p1", "changed 2 -", "changed 2 -", "changed 3 p3"],
        ]);
        for (const id of ["", 1, "é", "x".repeat(201)]) {
          const [status] = await batch("PUT", "", [{ id: 1, title: "a", _optimisticId: id }]);
          assertEquals(status, 422);
        }
        await stream.close();
      }, { changes: { mode } }),
  );
}

testOnDialects(
  "of many rows in one batch each is echoed",
  (engine) =>
    withNotes(engine, { batch: { create: 1_000 } }, async (service) => {
      const { send, subscribe } = service;
      const stream = await subscribe("/api/notes/subscribe");
      await stream.untilSynced();
      const items = Array.from({ length: 700 }, (_, id) => ({
        ...{ id: id + 1, title: "t".repeat(20), _optimisticId: `n${id + 1}` },
      }));
      assertEquals((await send("POST", "/api/notes/batch", { items }, ada)).status, 201);
      // More than the stream holds unread: it catches up, and a mark would be no net change.
      const timer = setInterval(() => {}, 1_000);
      const found = (await stream.take(items.length)).map(echo);
      clearInterval(timer);
      assertEquals(found, items.map(({ id }) => `added ${id} n${id}`));
      await stream.close();
    }),
);

testOnDialects(
  "a client that reconnects receives the last id of a row's changes",
  (engine) =>
    withNotes(engine, {}, async (service) => {
      const { send, subscribe, db } = service;
      await insertRows(db, notes, [{ id: 1, title: "a", version: 1 }, {
        id: 2,
        title: "a",
        version: 1,
      }]);
      const first = await subscribe("/api/notes/subscribe");
      await first.untilSynced();
      const token = await first.untilToken();
      await first.close();
      await send("PATCH", "/api/notes/1", { title: "b" }, named("one"));
      await send("PATCH", "/api/notes/2", { title: "b" }, named("two"));
      await send("DELETE", "/api/notes/2", undefined, ada);
      const second = await subscribe(`/api/notes/subscribe?resumeFrom=${token}`);
      const found = new Set(await echoes(second, service));
      assertEquals([found.has("changed 1 one"), [...found].at(-1)?.startsWith("removed 2")], [
        true,
        true,
      ]);
      await second.close();
    }),
);

testOnDialects(
  "a write that is undone leaves no id, and one by a trigger has it too",
  (engine) =>
    withNotes(engine, {
      hooks: {
        onAfterUpdate: async ({ db }, row) => {
          if (row.title === "fails") throw new Error("undone");
          if (row.title === "twice") await db.sql`UPDATE notes SET rank = 5 WHERE id = ${row.id}`;
        },
      },
    }, async (service) => {
      const { send, subscribe, db } = service;
      await insertRows(db, notes, [{ id: 1, title: "a", version: 1 }]);
      const stream = await subscribe("/api/notes/subscribe");
      await stream.untilSynced();
      assertEquals(
        (await send("PATCH", "/api/notes/1", { title: "fails" }, named("undone"))).status,
        500,
      );
      assertEquals(
        (await send("PATCH", "/api/notes/1", { title: "twice" }, named("twice"))).status,
        200,
      );
      assertEquals(await echoes(stream, service), ["changed 1 twice", "changed 1 twice"]);
      await stream.close();
    }),
);

testOnDialects(
  "the events of a window contain the ids of the writes to its rows",
  (engine) =>
    withNotes(engine, {}, async ({ send, subscribe, db }) => {
      const rows = [1, 2, 3].map((id) => ({ id, title: "a", rank: 1, version: 1 }));
      await insertRows(db, notes, rows);
      using _ = keepAlive();
      const stream = await subscribe("/api/notes/subscribe?limit=2&orderBy=-id");
      await stream.take(1);
      const write = async (method: string, path: string, body: unknown, id: string) => {
        const headers = id === "" ? ada : named(id);
        assert((await send(method, `/api/notes${path}`, body, headers)).status < 300);
      };
      const follow = async (count: number) => (await stream.take(count)).map(echo);
      await write("POST", "", { id: 4, title: "b", rank: 1 }, "c4");
      assertEquals(await follow(2), ["removed 2 -", "added 4 c4"]);
      await write("PATCH", "/4", { title: "c" }, "u4");
      assertEquals(await follow(1), ["changed 4 u4"]);
      await write("PATCH", "/4", { title: "d" }, "");
      assertEquals(await follow(1), ["changed 4 -"]);
      await write("PATCH", "/1", { title: "outside" }, "u1");
      // The database is read for the row that enters.
      await write("DELETE", "/4", undefined, "d4");
      assertEquals(await follow(2), ["removed 4 d4", "added 2 -"]);
      await write("DELETE", "/3", undefined, "");
      assertEquals(await follow(2), ["removed 3 -", "added 1 -"]);
    }),
);

Deno.test("where no stream carries it, an id changes nothing", () =>
  withNotes(sqlite, { capabilities: { enableSubscribe: false } }, async ({ send, db }) => {
    await run(db, "INSERT INTO notes (id, title, version) VALUES (1, 'a', 1)");
    const { status, body } = await send("PATCH", "/api/notes/1", { title: "b" }, named("x"));
    assertEquals([status, "_optimisticId" in body], [200, false]);
  }));
