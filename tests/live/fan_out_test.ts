import { assert, assertEquals } from "@std/assert";
import { integer, text } from "../../src/schema/column_builder.ts";
import { table } from "../../src/schema/table.ts";
import { type Engine, engines } from "../support/engines.ts";
import type { EventStream } from "../support/event_stream.ts";
import { insertRows, type Service, testOnEngines } from "../support/http.ts";
import { untilIdle, withHub } from "./hub_support.ts";
import { ada, notes, withNotes } from "./notes.ts";

const [sqlite] = engines;
if (sqlite === undefined) throw new Error("There is an engine");

const crowd = 600;

for (const engine of engines.filter(({ name }) => name.includes("sqlite"))) {
  Deno.test(`the answer to a writer does not wait for the delivery to a crowd (${engine.name})`, () =>
    withCrowd(engine, async ({ get, send }, sent, first) => {
      assertEquals((await send("PATCH", "/api/notes/1", { title: "b" }, ada)).status, 200);
      assert(sent.every(({ length }) => length === 0), "the answer comes first");
      await first;
      assertEquals((await get("/api/notes/1")).body.title, "b");
      assert(sent.some(({ length }) => length === 0), "requests during the delivery are answered");
      await send("PATCH", "/api/notes/1", { title: "last" }, ada);
      return ["b", "last"];
    }));
}

testOnEngines(
  "each of a crowd receives all changes in their order, however fast they come",
  (engine) =>
    withCrowd(engine, async ({ send }) => {
      const titles = ["b", "c", "d", "e", "last"];
      for (const title of titles) await send("PATCH", "/api/notes/1", { title }, ada);
      return titles;
    }),
);

const rows = table("rows", { id: integer().primaryKey(), title: text().notNull() });

Deno.test("a heartbeat, or an end, during the delivery to a crowd takes back no position", () =>
  withHub(sqlite, rows, {}, async ({ advance, hub, sql, subscribe }) => {
    await sql("INSERT INTO rows VALUES (1, 'a')");
    const streams = await Promise.all(Array.from({ length: crowd }, () => subscribe()));
    for (const stream of streams) await stream.untilSynced();
    for (const stream of streams) await stream.untilToken();
    await untilIdle();
    const [first] = streams;
    if (first === undefined) throw new Error("There is a crowd");
    const before = first.lastEventId;
    await sql("UPDATE rows SET title = 'b'");
    await first.take(1);
    // Each stream is visited before the next slice of the crowd is served, and then all are ended.
    const visits = advance(18_000, 500);
    for (let turn = 0; turn < 200; turn++) await Promise.resolve();
    const closed = hub.close();
    await Promise.all(streams.map((stream) => stream.untilEnd()));
    await Promise.all([visits, closed]);
    const sent = streams.filter(({ text }) => text.includes(`"title":"b"`));
    assert(sent.length > 0 && sent.length < crowd, `${sent.length} were served`);
    for (const stream of streams) {
      const ids = [...stream.text.matchAll(/^id: (.+)$/gm)].map(([, id]) => id);
      assertEquals(new Set(ids).size, sent.includes(stream) ? 2 : 1, stream.text);
      assertEquals(ids.at(-1) === before, !sent.includes(stream), "the last position is known");
    }
  }));

/** Runs `work` while a crowd follows one note; it returns the titles that each has to receive. */
function withCrowd(
  engine: Engine,
  work: (
    service: Service,
    sent: readonly string[][],
    first: Promise<void>,
  ) => Promise<readonly string[]>,
): Promise<void> {
  return withNotes(engine, {}, async (service) => {
    const { db, subscribe } = service;
    await insertRows(db, notes, [{ id: 1, title: "a", version: 1 }]);
    const streams: EventStream[] = [];
    while (streams.length < crowd) streams.push(await subscribe("/api/notes/subscribe"));
    for (const stream of streams) await stream.untilSynced();
    for (const stream of streams) await stream.untilToken();
    await untilIdle();
    const sent: string[][] = streams.map(() => []);
    const first = Promise.withResolvers<void>();
    const reading = streams.map(async (stream, index) => {
      while (sent[index]?.at(-1) !== "last") {
        const [event] = await stream.take(1);
        sent[index]?.push(event?.data.item.title);
        first.resolve();
      }
    });
    const titles = await work(service, sent, first.promise);
    await Promise.all(reading);
    for (const each of sent) assertEquals(each, titles);
    for (const stream of streams) await stream.close();
  }, { subscribe: { maxPerUser: crowd, maxPerAddress: crowd } });
}
