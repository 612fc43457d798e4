import { assertEquals } from "@std/assert";
import type { ChangeLog } from "../../src/db/changes/change_log.ts";
import { integer, text } from "../../src/schema/column_builder.ts";
import { table } from "../../src/schema/table.ts";
import { engines } from "../support/engines.ts";
import { testOnEngines } from "../support/http.ts";
import { EventSourceParser } from "./checker/event_source_parser.ts";
import { Client, untilIdle, withHub } from "./hub_support.ts";
import { logMethods } from "./log_methods.ts";

const rows = table("rows", { id: integer().primaryKey(), rank: integer(), title: text() });
const [sqlite] = engines;
if (sqlite === undefined) throw new Error("There is an engine");

const insert = (id: number) => `INSERT INTO rows (id, rank, title) VALUES (${id}, 1, 'row')`;
const many = (first: number, count: number) =>
  `INSERT INTO rows (id, rank) VALUES ${
    Array.from({ length: count }, (_, index) => `(${first + index}, 1)`).join()
  }`;

Deno.test("a log that begins again after a page starts the stream over, and does not end it", () => {
  let isFirst = true;
  let beginAgain = () => Promise.resolve();
  const wrap = (log: ChangeLog): ChangeLog => ({
    ...logMethods(log),
    async readAt(statement) {
      const page = await log.readAt(statement);
      if (isFirst) await beginAgain();
      isFirst = false;
      return page;
    },
  });
  return withHub(sqlite, rows, { wrap }, async ({ sql, subscribe, observations }) => {
    beginAgain = () =>
      sql(`UPDATE "_service_meta" SET value = '0123456789abcdef' WHERE name = 'epoch'`);
    await sql(insert(1));
    const stream = await subscribe();
    const [invalid, existing] = await stream.take(2);
    assertEquals(invalid?.data, { type: "invalidate", reason: "history_lost" });
    assertEquals(existing?.data.items.length, 1);
    assertEquals(observations, []);
    await stream.close();
  });
});

testOnEngines(
  "a stream that receives a step in parts gets no event of a row that came and went within it",
  (engine) => {
    const limits = { maxChangesAtOnce: 4, maxUnreadBytes: 300 };
    return withHub(engine, rows, { limits }, async ({ db, sql, subscribe }) => {
      const stream = await subscribe();
      await stream.untilSynced();
      await untilIdle();
      for (let id = 1; id <= 10; id++) await sql(insert(id));
      await untilIdle();
      await db.driver.transaction(async (connection) => {
        for (const text of [many(20, 6), insert(900), "DELETE FROM rows WHERE id = 900"]) {
          await connection.query({ text, values: [] });
        }
      });
      await sql(insert(1_000));
      await untilIdle();
      const client = new Client();
      while (!client.rows.has(1_000)) {
        for (const event of await stream.take(1)) client.take(event);
      }
      assertEquals(client.faults, []);
      await stream.close();
    });
  },
);

Deno.test("the sent part of a step is not sent again when memory drops the step", () => {
  const limits = {
    maxChangesAtOnce: 4,
    maxUnreadBytes: 300,
    ringBuffer: { changes: 30, bytes: 100_000 },
  };
  return withHub(sqlite, rows, { limits }, async ({ sql, open }) => {
    const client = new Client();
    const parser = new EventSourceParser(({ event }) => {
      if (event !== null) client.take({ type: event.type, data: JSON.parse(event.data) });
    });
    // Chunk by chunk: whatever stands between would read ahead.
    const reader = (await open()).getReader();
    const readUntil = async (isThere: () => boolean) => {
      while (!isThere()) parser.push((await reader.read()).value ?? new Uint8Array());
      await untilIdle();
    };
    await readUntil(() => client.isSynced);
    for (let id = 1; id <= 10; id++) await sql(insert(id));
    await sql(many(20, 12));
    await readUntil(() => client.rows.has(20));
    // Now it stands in the middle of the step.
    await sql(many(40, 25));
    await sql(insert(1_000));
    await readUntil(() => client.rows.has(1_000));
    assertEquals(client.faults, []);
    assertEquals(client.rows.size, 48);
    await reader.cancel();
  });
});

Deno.test("no change is lost between two pages where the log is full of changes of others", () => {
  const limits = {
    maxRowsPerPage: 1,
    maxUnreadBytes: 100,
    ringBuffer: { changes: 10, bytes: 100_000 },
  };
  return withHub(sqlite, rows, { limits }, async ({ sql, open }) => {
    await sql(many(1, 20));
    const client = new Client();
    const parser = new EventSourceParser(({ event }) => {
      if (event !== null) client.take({ type: event.type, data: JSON.parse(event.data) });
    });
    const reader = (await open()).getReader();
    const readUntil = async (isThere: () => boolean) => {
      while (!isThere()) parser.push((await reader.read()).value ?? new Uint8Array());
    };
    await readUntil(() => client.rows.has(1));
    // More than the log gives at a time, and then more than memory holds.
    await sql(`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 600)
      INSERT INTO "_service_changes" ("table", op) SELECT 'elsewhere', 'insert' FROM n`);
    await sql("UPDATE rows SET title = 'late' WHERE id = 1");
    await sql(many(30, 40));
    await untilIdle();
    await readUntil(() => client.isSynced);
    assertEquals(client.rows.get(1)?.["title"], "late");
    assertEquals(client.faults, []);
    await reader.cancel();
  });
});
