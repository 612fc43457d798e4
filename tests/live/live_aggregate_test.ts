import { assert, assertEquals } from "@std/assert";
import type { ChangeLogStep } from "../../src/db/changes/change_log.ts";
import type { ChangeLog } from "../../src/db/changes/change_log.ts";
import { eq, gt } from "../../src/filter/builders.ts";
import { noRows } from "../../src/filter/filter.ts";
import { integer, real, text } from "../../src/schema/column_builder.ts";
import { table } from "../../src/schema/table.ts";
import type { LiveLimits } from "../../src/live/live_limits.ts";
import { engines } from "../support/engines.ts";
import type { EventStream, ServerEvent } from "../support/event_stream.ts";
import {
  close,
  policyOf,
  readAll,
  type Received,
  type TestHub,
  untilIdle,
  user,
  withHub,
} from "./hub_support.ts";
import { logMethods } from "./log_methods.ts";

const rows = table("rows", {
  id: integer().primaryKey(),
  rank: integer(),
  title: text(),
  speed: real(),
});
const [sqlite] = engines;
if (sqlite === undefined) throw new Error("There is an engine");
const engine = sqlite;

const insert = (id: number, rank: number | null = 1, title = "a") =>
  `INSERT INTO rows (id, rank, title) VALUES (${id}, ${rank}, '${title}')`;

/** An answer as a short line, `a 2 {"rank":3}, b 1 …`, another event by its reason. */
function line({ type, data }: ServerEvent): string {
  if (type !== "aggregate") return data.reason;
  return data.groups.map(({ key, count, ...metrics }: Record<string, unknown>) =>
    [
      ...Object.values(key ?? {}),
      ...(count === undefined ? [] : [count]),
      ...Object.values(metrics).map((one) => JSON.stringify(one)),
    ].join(" ")
  ).join(", ");
}

/** Reads whatever comes, as lines. */
function listen(stream: EventStream): Received<string> {
  return readAll(stream, line);
}

/** Runs against a hub that counts its readings; each takes `readingMs`. */
function withReadings(
  readingMs: number,
  work: (test: TestHub, readings: () => number) => Promise<void>,
  limits: Partial<LiveLimits> = {},
): Promise<void> {
  let readings = 0;
  let pass = (_ms: number): Promise<void> => Promise.resolve();
  return withHub(engine, rows, {
    limits,
    wrap: (log) => ({
      ...logMethods(log),
      readAt: async (statement) => {
        readings++;
        const result = await log.readAt(statement);
        if (readingMs > 0) await pass(readingMs);
        return result;
      },
    }),
  }, async (test) => {
    pass = (ms) => test.advance(ms);
    await work(test, () => readings);
  });
}

Deno.test("changes that follow each other are one event, a tenth of a second after the first", () =>
  withReadings(0, async ({ aggregate, sql, advance }, readings) => {
    const client = listen(await aggregate("groupBy=title&count=true&sum=rank"));
    await untilIdle();
    assertEquals(client.sent, [""]);
    for (let id = 1; id <= 50; id++) await sql(insert(id, id, id % 2 === 0 ? "even" : "odd"));
    await untilIdle();
    await advance(99);
    assertEquals(client.sent.length, 1);
    await advance(1);
    assertEquals(client.sent.slice(1), ['even 25 {"rank":650}, odd 25 {"rank":625}']);
    assertEquals(readings(), 1, "all of it was counted in memory");
    await close(client);
  }));

Deno.test("a change that does not alter the answer is no event", () =>
  withReadings(0, async (test, readings) => {
    const { aggregate, sql } = test;
    await sql(insert(1, 5));
    const client = listen(await aggregate("sum=rank", { filter: gt(rows.rank, 3) }));
    for (
      const write of [
        "UPDATE rows SET title = 'b'",
        "UPDATE rows SET rank = 6; UPDATE rows SET rank = 5",
        insert(2, 3),
        `${insert(3, 7)}; DELETE FROM rows WHERE id > 1`,
      ]
    ) await coalesced(test, ...write.split(";"));
    assertEquals(client.sent, ['{"rank":5}']);
    await coalesced(test, "UPDATE rows SET rank = 9");
    assertEquals(client.sent, ['{"rank":5}', '{"rank":9}']);
    assertEquals(readings(), 1);
    await close(client);
  }));

Deno.test("groups that read alike are not taken for one", () =>
  withReadings(0, async (test) => {
    // Two texts that are no UTF-8: both read as the character that stands for such bytes.
    for (const [id, bytes] of [[1, "ff"], [2, "fe"]]) {
      await test.sql(`INSERT INTO rows (id, title) VALUES (${id}, CAST(x'${bytes}' AS TEXT))`);
    }
    const client = listen(await test.aggregate("groupBy=title&count=true"));
    await coalesced(test, insert(3, 1, "a"));
    await coalesced(test, insert(4, 1, "a"));
    assertEquals(client.sent.at(-1), "a 2, \ufffd 1, \ufffd 1");
    await close(client);
  }));

Deno.test("an extreme becomes a further one at once, and is read again when it leaves", () =>
  withReadings(0, async (test, readings) => {
    await test.sql(insert(1, 5));
    await test.sql(insert(2, 3));
    const client = listen(await test.aggregate("count=true&max=rank"));
    const after = async (write: string) => {
      await coalesced(test, write);
      return [client.sent.at(-1), readings()];
    };
    assertEquals(await after(insert(3, 9)), ['3 {"rank":9}', 1]);
    assertEquals(await after("UPDATE rows SET rank = 11 WHERE id = 3"), ['3 {"rank":11}', 1]);
    assertEquals(await after("DELETE FROM rows WHERE id = 2"), ['2 {"rank":11}', 1]);
    assertEquals(await after("UPDATE rows SET rank = 2 WHERE id = 3"), ['2 {"rank":5}', 2]);
    assertEquals(await after("DELETE FROM rows WHERE id = 1"), ['1 {"rank":2}', 3]);
    assertEquals(await after("DELETE FROM rows WHERE id = 3"), ['0 {"rank":null}', 3]);
    await close(client);
  }));

Deno.test("sums of doubles are read again, and the database rests four times as long", () =>
  withReadings(1_000, async (test, readings) => {
    const { aggregate, sql, advance } = test;
    await sql(insert(1));
    const client = listen(await aggregate("sum=speed"));
    for (let turn = 0; turn < 5; turn++) await untilIdle();
    assertEquals(client.sent, ['{"speed":null}']);
    for (let tenth = 1; tenth <= 80; tenth++) {
      await coalesced(test, `UPDATE rows SET speed = ${tenth}`);
    }
    // One at the start, and one in each five seconds: in eight seconds and those of the readings.
    assertEquals(readings(), 3);
    await advance(6_000, 100);
    assertEquals(client.sent.at(-1), '{"speed":80}');
    const all = readings();
    assert(all <= 4, `${all} readings`);
    await advance(60_000, 100);
    assertEquals(readings(), all, "without changes nothing is read");
    await close(client);
  }));

Deno.test("streams of the same aggregate share one reading", () =>
  withReadings(0, async (test, readings) => {
    const { hub, aggregate } = test;
    const queries = ["groupBy=title&sum=rank", "groupBy=title&sum=rank&limit=1000", "sum=rank"];
    const clients: Received<string>[] = [];
    for (const query of [...queries, ...queries]) clients.push(listen(await aggregate(query)));
    await untilIdle();
    assertEquals([clients.every(({ sent }) => sent.length === 1), readings()], [true, 2]);
    await coalesced(test, insert(1));
    for (const { sent } of clients) assert(sent[1]?.endsWith('{"rank":1}'));
    for (const client of clients) await close(client);
    assertEquals(hub.size, 0);
    const late = listen(await aggregate("sum=rank"));
    await untilIdle();
    assertEquals(late.sent, ['{"rank":1}']);
    assertEquals(readings(), 3, "with its last stream an aggregate is dropped");
    await close(late);
  }));

Deno.test("a client that reads slowly receives the latest answer, and none before it", () =>
  withHub(engine, rows, { limits: { maxUnreadBytes: 10 } }, async (test) => {
    const stream = await test.aggregate("count=true");
    await untilIdle();
    for (let id = 1; id <= 20; id++) await coalesced(test, insert(id));
    const client = listen(stream);
    await untilIdle();
    assertEquals(client.sent.at(-1), "20");
    // What the client's own buffers had taken before.
    assert(client.sent.length <= 4, `${client.sent}`);
    await close(client);
  }));

Deno.test("an incremental aggregate that has drifted is found after a minute, and the database is right", () => {
  let isDeaf = false;
  const without = (step: ChangeLogStep | null) =>
    step === null || !isDeaf ? step : { ...step, changes: step.changes.slice(1) };
  return withHub(engine, rows, {
    wrap: (log) => ({ ...logMethods(log), next: async (from) => without(await log.next(from)) }),
  }, async (test) => {
    const { aggregate, advance, observations } = test;
    const client = listen(await aggregate("count=true"));
    await untilIdle();
    isDeaf = true;
    await coalesced(test, "INSERT INTO rows (id) VALUES (1), (2), (3)");
    isDeaf = false;
    await advance(58_000, 500);
    assertEquals([client.sent, observations], [["0", "2"], []]);
    await advance(3_000, 500);
    assertEquals(client.sent, ["0", "2", "3"]);
    assertEquals(observations, [{ kind: "aggregate_mismatch", resource: "/api/rows" }]);
    await close(client);
  });
});

Deno.test("after so many events an aggregate is compared with the database, and nothing is sent", () =>
  withReadings(0, async (test, readings) => {
    const client = listen(await test.aggregate("count=true"));
    await untilIdle();
    await coalesced(test, ...Array.from({ length: 25 }, (_, id) => insert(id)));
    assertEquals([readings(), client.sent, test.observations], [2, ["0", "25"], []]);
    await coalesced(test, insert(99));
    assertEquals([readings(), client.sent], [2, ["0", "25", "26"]]);
    await close(client);
  }, { maxUncheckedEvents: 10 }));

Deno.test("more groups than memory keeps are read again, and no less right", () =>
  withReadings(0, async (test, readings) => {
    const client = listen(await test.aggregate("groupBy=rank&count=true"));
    await untilIdle();
    for (let id = 1; id <= 5; id++) await coalesced(test, insert(id, id));
    assertEquals(client.sent, ["", "1 1", "1 1, 2 1", "1 1, 2 1, 3 1", ...client.sent.slice(4)]);
    assertEquals(client.sent.at(-1), "1 1, 2 1, 3 1, 4 1, 5 1");
    // At the fourth group memory was tried once more, and from then on no more.
    assertEquals(readings(), 1 + 2 + 1);
    await close(client);
  }, { maxGroupsInMemory: 3 }));

Deno.test("a step of thousands of rows is one event, and an emptied table as well", () =>
  withReadings(0, async (test) => {
    const client = listen(await test.aggregate("count=true&sum=rank"));
    await untilIdle();
    await test.sql(
      `WITH RECURSIVE n(id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM n WHERE id < 3000)
      INSERT INTO rows (id, rank) SELECT id, 1 FROM n`,
    );
    // Looks while the step is on its way, and when it has come.
    await test.advance(300, 10);
    for (let look = 0; look < 10; look++) await test.advance(100);
    await test.sql("DELETE FROM rows");
    await test.advance(300, 10);
    for (let look = 0; look < 10; look++) await test.advance(100);
    assertEquals(client.sent, ['0 {"rank":null}', '3000 {"rank":3000}', '0 {"rank":null}']);
    await close(client);
  }, { ringBuffer: { changes: 800, bytes: 10_000_000 } }));

Deno.test("a stream of an aggregate lives and ends as every stream does", () =>
  withHub(engine, rows, {}, async ({ aggregate, advance, hub }) => {
    const claims = { exp: 60 };
    const short = listen(await aggregate("count=true", { user: user("ada", claims) }));
    const long = listen(await aggregate("count=true"));
    await advance(80_000, 500);
    await short.end;
    assertEquals(short.sent, ["0", "auth_expired"]);
    assertEquals(hub.size, 1);
    await advance(30 * 60_000, 500);
    await long.end;
    assertEquals([long.sent, hub.size], [["0"], 0]);
    const { text, lastEventId, retryMs } = long.stream;
    assert((text.match(/^:$/gm) ?? []).length > 50, "signs of life");
    assertEquals([lastEventId, retryMs !== null], ["", true]);
    const drained = listen(await aggregate("count=true"));
    const draining = hub.drain(1_000);
    await advance(2_000, 50);
    await draining;
    await drained.end;
  }));

Deno.test("another scope gives other numbers, and none ends the stream", () => {
  let scope = eq(rows.rank, 1);
  return withHub(engine, rows, {}, async (test) => {
    const { aggregate, sql, advance, hub } = test;
    await sql(insert(1, 1));
    await sql(insert(2, 2, "b"));
    const policy = policyOf(() => scope);
    const request = { policy, user: user("ada"), scope };
    const client = listen(await aggregate("groupBy=title&count=true", request));
    await untilIdle();
    scope = eq(rows.rank, 2);
    await advance(60_000);
    assertEquals(client.sent, ["a 1", "scope_changed", "b 1"]);
    await coalesced(test, insert(3, 1, "unseen"), insert(4, 2, "b"));
    assertEquals(client.sent.slice(3), ["b 2"]);
    scope = noRows;
    await advance(60_000);
    await client.end;
    assertEquals([client.sent.slice(4), hub.size], [["auth_expired"], 0]);
  });
});

Deno.test("a database that cannot be read ends the streams of an aggregate, and is observed", () => {
  let isBroken = true;
  return withHub(engine, rows, {
    wrap: (log) => ({
      ...logMethods(log),
      readAt: (statement) =>
        isBroken ? Promise.reject(new Error("no database")) : log.readAt(statement),
    }),
  }, async ({ aggregate, observations, hub }) => {
    const clients = [await aggregate("count=true"), await aggregate("count=true")].map(listen);
    for (const { end } of clients) await end;
    assertEquals(observations.map(({ kind }) => kind), ["stream_failed", "stream_failed"]);
    assertEquals(hub.size, 0);
    isBroken = false;
    const client = listen(await aggregate("count=true"));
    await untilIdle();
    assertEquals(client.sent, ["0"]);
    await close(client);
  });
});

/** Writes, and lets the tenth of a second go by in which changes are one event. */
async function coalesced({ sql, advance }: TestHub, ...writes: readonly string[]): Promise<void> {
  for (const write of writes) await sql(write);
  await untilIdle();
  await advance(100);
}

Deno.test("a log that begins again after a reading has it read again, and ends no stream", () => {
  let isFirst = true;
  let beginAgain = () => Promise.resolve();
  const wrap = (log: ChangeLog): ChangeLog => ({
    ...logMethods(log),
    async readAt(statement) {
      const reading = await log.readAt(statement);
      if (isFirst) await beginAgain();
      isFirst = false;
      return reading;
    },
  });
  return withHub(engine, rows, { wrap }, async (test) => {
    beginAgain = () =>
      test.sql(`UPDATE "_service_meta" SET value = '0123456789abcdef' WHERE name = 'epoch'`);
    const client = listen(await test.aggregate("count=true"));
    await untilIdle();
    await test.advance(1_000, 100);
    assertEquals(client.sent, ["0"]);
    await coalesced(test, insert(1));
    assertEquals([client.sent, test.observations], [["0", "1"], []]);
    await close(client);
  });
});
