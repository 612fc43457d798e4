import { assert, assertEquals } from "@std/assert";
import { gte } from "../../src/filter/builders.ts";
import { integer, text } from "../../src/schema/column_builder.ts";
import { table } from "../../src/schema/table.ts";
import type { EventStream } from "../support/event_stream.ts";
import { testOnEngines } from "../support/http.ts";
import { Client, readAll, type TestHub, untilIdle, withHub } from "./hub_support.ts";

const rows = table("rows", { id: integer().primaryKey(), body: text() });

const size = 100_000;
const limits = { maxEventBytes: 250_000 };

/** Writes rows of which two fit an event. */
async function insertLarge(test: TestHub, from: number, count: number): Promise<void> {
  const all = Array.from(
    { length: count },
    (_, index) => `(${from + index}, '${"x".repeat(size)}')`,
  );
  await test.sql(`INSERT INTO rows (id, body) VALUES ${all.join(", ")}`);
}

testOnEngines(
  "a page of large rows was read, and held for a client that does not read, as a whole",
  (engine) =>
    withHub(engine, rows, { limits }, async (test) => {
      await insertLarge(test, 1, 20);
      await test.sql("INSERT INTO rows (id, body) VALUES (21, 'small'), (22, 'small')");
      const chunks = await chunksOf(await test.open(), (text) => text.includes('"hasMore":false'));
      const sizes = chunks.map((chunk) => chunk.length);
      assert(Math.max(...sizes) < 300_000, `${sizes}`);
      const stream = await test.subscribe();
      const pages = await stream.untilSynced();
      const ids = pages.flatMap(({ data }) => data.items.map(({ id }: { id: number }) => id));
      assertEquals(ids, Array.from({ length: 22 }, (_, index) => index + 1));
      await stream.close();
    }),
);

testOnEngines(
  "the events of a large transaction were held as a whole for each client that did not read",
  (engine) =>
    withHub(engine, rows, { limits }, async (test) => {
      // Filters that differ: streams with the same one share their bytes.
      const readers = [];
      for (let n = 0; n < 3; n++) {
        const bytes = await test.open({ filter: gte(rows.id, -n), skipExisting: true });
        readers.push(bytes.getReader());
      }
      await untilLive(test, 3);
      await insertLarge(test, 1, 20);
      for (const reader of readers) {
        const text = await readUntil(reader, (text) => idsIn(text).length === 20, 350_000);
        assertEquals(idsIn(text), Array.from({ length: 20 }, (_, index) => index + 1));
        await reader.cancel();
      }
      assertEquals(test.observations, []);
    }),
);

testOnEngines(
  "the changes that a client had missed were held as a whole until it read them",
  (engine) =>
    withHub(engine, rows, {
      // The log has to be read: memory holds no step of this size.
      limits: { ...limits, ringBuffer: { changes: 100, bytes: 150_000 } },
    }, async (test) => {
      const stream = await test.subscribe({ skipExisting: true });
      const client = new Client();
      const received = readAll(stream, (event) => client.take(event));
      await untilLive(test, 1);
      for (let id = 1; id <= 30; id += 10) await insertLarge(test, id, 10);
      await untilRows(test, client, 30);
      assertEquals(client.faults, []);
      await stream.close();
      await received.end;
    }),
);

testOnEngines(
  "a row that is larger than an event is sent",
  (engine) =>
    withHub(engine, rows, { limits: { maxEventBytes: 1_000 } }, async (test) => {
      await insertLarge(test, 1, 3);
      const stream: EventStream = await test.subscribe();
      const client = new Client();
      const received = readAll(stream, (event) => client.take(event));
      await untilRows(test, client, 3);
      await insertLarge(test, 4, 3);
      await untilRows(test, client, 6);
      assertEquals(client.faults, []);
      await stream.close();
      await received.end;
    }),
);

async function untilRows(test: TestHub, client: Client, count: number): Promise<void> {
  for (let turns = 0; client.rows.size < count && turns < 100; turns++) {
    await test.advance(100);
    await untilIdle(50);
  }
  assertEquals(client.rows.size, count);
}

async function untilLive(test: TestHub, count: number): Promise<void> {
  for (let turns = 0; test.hub.liveSize < count && turns < 100; turns++) {
    await test.advance(100);
    await untilIdle(50);
  }
}

/** The ids of the rows that were added. */
function idsIn(text: string): number[] {
  return [...text.matchAll(/"type":"added","seq":\d+,"id":(\d+)/g)].map(([, id]) => Number(id));
}

async function chunksOf(
  stream: ReadableStream<Uint8Array>,
  isEnd: (text: string) => boolean,
): Promise<string[]> {
  const reader = stream.getReader();
  const chunks: string[] = [];
  while (!isEnd(chunks.at(-1) ?? "")) chunks.push(decode((await reader.read()).value));
  await reader.cancel();
  return chunks;
}

/** Reads until a text has come, in chunks of which none is larger. */
async function readUntil(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  isEnd: (text: string) => boolean,
  maxBytes: number,
): Promise<string> {
  let text = "";
  while (!isEnd(text)) {
    const { value } = await reader.read();
    assert((value?.length ?? 0) <= maxBytes, `${value?.length}`);
    text += decode(value);
  }
  return text;
}

function decode(bytes: Uint8Array | undefined): string {
  return new TextDecoder().decode(bytes);
}
