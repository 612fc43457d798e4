import { printLogPosition } from "../../src/db/changes/log_position.ts";
import { assert, assertEquals, assertRejects } from "@std/assert";
import { eq, gt } from "../../src/filter/builders.ts";
import { comparison, noRows } from "../../src/filter/filter.ts";
import type { Operator } from "../../src/filter/operators/operator.ts";
import { createOperatorRegistry } from "../../src/filter/operators/operator_registry.ts";
import type { Matcher } from "../../src/live/match/matcher.ts";
import { sql } from "../../src/sql/fragment.ts";
import { integer, text } from "../../src/schema/column_builder.ts";
import { table } from "../../src/schema/table.ts";
import { columnInfoOf, tableInfoOf } from "../../src/schema/table_like.ts";
import { engines, everyEngine } from "../support/engines.ts";
import type { EventStream } from "../support/event_stream.ts";
import { testOnEngines } from "../support/http.ts";
import { testUnless } from "../support/skip.ts";
import { Client, policyOf, type TestHub, untilIdle, user, withHub } from "./hub_support.ts";
import { logMethods } from "./log_methods.ts";

const rows = table("rows", { id: integer().primaryKey(), rank: integer(), title: text() });
const [sqlite] = engines;
if (sqlite === undefined) throw new Error("There is an engine");

const insert = (id: number, rank = 1, title = "row") =>
  `INSERT INTO rows (id, rank, title) VALUES (${id}, ${rank}, '${title}')`;

/** Reads until a row is there. */
async function readUntil(
  stream: Awaited<ReturnType<TestHub["subscribe"]>>,
  client: Client,
  id: number,
) {
  while (!client.rows.has(id)) {
    for (const event of await stream.take(1)) client.take(event);
  }
}

const same = (some: readonly Record<string, unknown>[]) => some;

Deno.test("all who see the same get the same bytes, and a row is shown once for all views alike", () => {
  let presented = 0;
  const view = {
    key: "counted",
    shape: "counted",
    safeNumbers: false,
    shown: [],
    rights: [],
    present: (some: readonly Record<string, unknown>[]) => {
      presented += some.length;
      return some;
    },
  };
  return withHub(sqlite, rows, {}, async ({ open, sql }) => {
    const requests = [{}, {}, { filter: gt(rows.rank, 0) }, { filter: eq(rows.rank, 1) }];
    const readers = [];
    for (const request of requests) {
      const reader = (await open({ view, ...request })).getReader();
      readers.push(reader);
      while (!decode((await reader.read()).value).startsWith("id: ")) { /* the snapshot */ }
    }
    await untilIdle();
    await sql(insert(1));
    const chunks = await Promise.all(readers.map(async (reader) => (await reader.read()).value));
    assertEquals(presented, 1);
    assert(decode(chunks[0]).startsWith("event: added\n"));
    assert(/\n\nid: \S+\n\n$/.test(decode(chunks[0])), "events and position are one chunk");
    assert(chunks[0] === chunks[1], "the very same bytes");
    const events = chunks.map((chunk) => decode(chunk).split("id: ")[0]);
    assertEquals(new Set(events).size, 1);
    assertEquals(new Set(chunks.map(decode)).size, 3, "each group has different tokens");
    for (const reader of readers) await reader.cancel();
  });
});

function decode(bytes: Uint8Array | undefined): string {
  return new TextDecoder().decode(bytes);
}

testOnEngines(
  "a client that does not read is parked, and catches up with the net changes",
  (engine) => {
    const limits = { maxUnreadBytes: 300, maxChangesAtOnce: 50 };
    return withHub(engine, rows, { limits }, async ({ subscribe, sql, hub }) => {
      const stream = await subscribe();
      await stream.untilSynced();
      await untilIdle();
      for (let id = 1; id <= 40; id++) await sql(insert(id));
      await untilIdle();
      for (let turn = 0; turn < 3; turn++) await sql(`UPDATE rows SET rank = rank + 1`);
      await sql("DELETE FROM rows WHERE id > 20");
      await sql(insert(500, 1, "last"));
      await untilIdle();
      assertEquals(hub.size, 1);
      const client = new Client();
      await readUntil(stream, client, 500);
      assertEquals(client.faults, []);
      assertEquals(
        [...client.rows.keys()].toSorted(),
        [...Array(20).keys()].map((i) => i + 1).concat(500).toSorted(),
      );
      assertEquals(client.rows.get(7)?.["rank"], 4);
      const events = stream.text.match(/^event: \w+/gm) ?? [];
      assert(events.length < 40 + 120 + 20, `${events.length} events are what is left, not all`);
      await sql(insert(501));
      await readUntil(stream, client, 501);
      await stream.close();
    });
  },
);

testOnEngines("a client that lags far is served from the log, and the same way", (engine) => {
  const limits = {
    maxUnreadBytes: 300,
    maxChangesAtOnce: 20,
    ringBuffer: { changes: 10, bytes: 10_000 },
  };
  return withHub(engine, rows, { limits }, async ({ subscribe, sql }) => {
    const stream = await subscribe();
    await stream.untilSynced();
    await untilIdle();
    for (let id = 1; id <= 60; id++) await sql(insert(id));
    await sql("UPDATE rows SET rank = 7 WHERE id > 30");
    await sql("DELETE FROM rows WHERE id <= 30");
    await sql(insert(500));
    await untilIdle();
    const client = new Client();
    await readUntil(stream, client, 500);
    assertEquals(client.rows.size, 31);
    assertEquals(new Set([...client.rows.values()].map((row) => row["rank"])), new Set([7, 1]));
    await stream.close();
  });
});

testOnEngines(
  "a stream resumes after its token, in another process as well",
  (engine) =>
    withHub(engine, rows, {}, async (first) => {
      await first.sql(insert(1));
      const stream = await first.subscribe();
      await stream.untilSynced();
      const token = await stream.untilToken();
      await stream.close();
      await first.sql(insert(2));
      await first.sql("UPDATE rows SET rank = 2 WHERE id = 1");
      await first.sql("DELETE FROM rows WHERE id = 2");
      const goesOn = async (stream: EventStream) => {
        const events = await stream.take(3);
        assertEquals(
          events.map(({ type, data }) => `${type} ${data.id ?? data.item.id}`),
          ["added 2", "changed 1", "removed 2"],
        );
      };
      const again = await first.subscribe({ resumeFrom: token });
      await goesOn(again);
      await again.close();
      await first.elsewhere({ resumeFrom: token }, goesOn);
    }),
);

testOnEngines(
  "a token is good for the rows that were followed, in every process, and for no others",
  (engine) =>
    withHub(engine, rows, {}, async ({ subscribe, elsewhere, sql }) => {
      await sql(insert(1, 1));
      await sql(insert(2, 2));
      const request = { scope: eq(rows.rank, 1) };
      const first = await subscribe(request);
      await first.untilSynced();
      const resumeFrom = await first.untilToken();
      await first.close();
      const beginsAgain = (reason: string, id: number) => async (again: EventStream) => {
        const [invalid, existing] = await again.take(2);
        assertEquals(invalid?.data, { type: "invalidate", reason });
        assert(again.text.includes(`"${reason}"}\n\nid:\n\n`), "the position is dropped");
        assertEquals(existing?.data.items.map((item: { id: number }) => item.id), [id]);
      };
      const moved = { resumeFrom, scope: eq(rows.rank, 2) };
      const again = await subscribe(moved);
      await beginsAgain("scope_changed", 2)(again);
      await again.close();
      await elsewhere(moved, beginsAgain("scope_changed", 2));
      const view = {
        key: "other",
        shape: "other",
        safeNumbers: false,
        shown: [],
        rights: [],
        present: same,
      };
      await elsewhere({ resumeFrom, ...request, view }, beginsAgain("schema_changed", 1));
      await elsewhere({ resumeFrom, ...request }, async (same) => {
        await sql(insert(3, 1));
        assertEquals((await same.take(1)).map(({ type }) => type), ["added"]);
      });
    }),
);

testOnEngines(
  "a position that was never given out for these rows brings back nothing that was deleted",
  (engine) =>
    withHub(engine, rows, {}, async ({ subscribe, sql, log }) => {
      const early = printLogPosition(await log.end());
      await sql(insert(1, 1, "deleted before"));
      await sql("DELETE FROM rows");
      await sql(insert(2));
      const stream = await subscribe();
      await stream.untilSynced();
      const [, seal] = (await stream.untilToken()).split("~");
      await stream.close();
      const again = await subscribe({ resumeFrom: `${early}~${seal}` });
      const [invalid, existing] = await again.take(2);
      assertEquals(invalid?.data, { type: "invalidate", reason: "scope_changed" });
      assertEquals(existing?.data.items.map((item: { id: number }) => item.id), [2]);
      assertEquals(again.text.includes("deleted before"), false);
      await again.close();
    }),
);

testOnEngines(
  "a token that is none, or of another life, or of the future starts over",
  (engine) =>
    withHub(engine, rows, {}, async ({ subscribe, sql, log }) => {
      await sql(insert(1));
      const end = await log.end();
      const ahead = end.kind === "sequence"
        ? { ...end, seq: end.seq + 1_000 }
        : { ...end, xmin: end.xmin + 100_000n, xmax: end.xmax + 100_000n, running: [] };
      const tokens = [
        "nonsense",
        "s.0.1",
        printLogPosition(end),
        `${printLogPosition({ ...end, epoch: "0123456789abcdef" })}~mark`,
        `${printLogPosition(ahead)}~mark`,
      ];
      for (const resumeFrom of tokens) {
        const stream = await subscribe({ resumeFrom });
        const [invalid, existing] = await stream.take(2);
        assertEquals(invalid?.data, { type: "invalidate", reason: "history_lost" });
        assert(stream.text.includes('"history_lost"}\n\nid:\n\n'), "the position is dropped");
        assertEquals(existing?.data.items.length, 1);
        await stream.close();
      }
    }),
);

testOnEngines(
  "who resumes in the middle of what it had got keeps no row that is gone",
  (engine) => {
    const limits = { maxChangesAtOnce: 10 };
    return withHub(engine, rows, { limits }, async ({ subscribe, sql }) => {
      const stream = await subscribe();
      await stream.untilSynced();
      const token = await stream.untilToken();
      await untilIdle();
      await sql(insert(1));
      const client = new Client();
      await readUntil(stream, client, 1);
      // The connection breaks before the position that follows the event.
      await stream.close();
      await sql("DELETE FROM rows WHERE id = 1");
      for (let id = 100; id < 130; id++) await sql(insert(id));
      const again = await subscribe({ resumeFrom: token });
      await readUntil(again, client, 129);
      assertEquals(client.rows.has(1), false);
      await again.close();
    });
  },
);

Deno.test("a client whose place in history was forgotten starts over", () => {
  const limits = { maxUnreadBytes: 300, ringBuffer: { changes: 2, bytes: 10_000 } };
  return withHub(sqlite, rows, { limits }, async ({ subscribe, sql }) => {
    const stream = await subscribe();
    await stream.untilSynced();
    await untilIdle();
    for (let id = 1; id <= 20; id++) await sql(insert(id));
    await untilIdle();
    await sql(`UPDATE "_service_meta" SET value = '20' WHERE name = 'floor'`);
    await sql(`DELETE FROM "_service_changes" WHERE seq <= 20`);
    await sql(insert(21));
    const client = new Client();
    const events = [];
    while (client.rows.size < 21) {
      const [event] = await stream.take(1);
      if (event === undefined) break;
      events.push(event);
      client.take(event);
    }
    const invalid = events.find(({ type }) => type === "invalidate");
    assertEquals(invalid?.data.reason, "slow_consumer");
    assertEquals(client.isSynced, true);
    await stream.close();
  });
});

for (const engine of everyEngine.filter(({ name }) => name === "postgres" || name === "pglite")) {
  const name = `a table that is emptied at once starts all streams over (${engine.name})`;
  testUnless(
    engine.ignore ?? null,
    name,
    () =>
      withHub(engine, rows, {}, async ({ subscribe, sql }) => {
        await sql(insert(1));
        const stream = await subscribe();
        await stream.untilSynced();
        await sql("TRUNCATE rows");
        const [invalid, existing] = await stream.take(2);
        assertEquals(invalid?.data.reason, "truncated");
        assertEquals(existing?.data, { type: "existing", items: [], hasMore: false });
        await stream.close();
      }),
  );
}

testOnEngines(
  "where memory is found to err, the streams start over and the database decides",
  (engine) => {
    const [id] = tableInfoOf(rows).columns;
    if (id === undefined) throw new Error("unreachable");
    // It says one thing to the database and another in memory.
    const operator = createOperatorRegistry({
      "=odd=": { toSql: () => sql`1=1`, matches: () => false },
    });
    const filter = comparison(operator.get("=odd=") as Operator, id, ["x"]);
    const wrapMatcher = (matcher: Matcher) => ({ ...matcher, shouldCheck: () => true });
    return withHub(engine, rows, { wrapMatcher }, async ({ subscribe, sql, observations }) => {
      const stream = await subscribe({ filter });
      await stream.untilSynced();
      await untilIdle();
      await sql(insert(1));
      const [invalid, existing] = await stream.take(2);
      assertEquals(invalid?.data.reason, "server_reset");
      assertEquals(existing?.data.items.length, 1);
      assertEquals(observations, [
        { kind: "live_mismatch", table: "rows", column: "id", operator: "=odd=" },
      ]);
      await sql(insert(2));
      assertEquals((await stream.take(1))[0]?.type, "added");
      await stream.close();
    });
  },
);

testOnEngines(
  "a stream becomes live while others write without a pause",
  (engine) =>
    withHub(engine, rows, {}, async ({ open, subscribe, sql, hub }) => {
      let isOver = false;
      let written = 0;
      const writing = (async () => {
        while (!isOver) await sql(insert(++written));
      })();
      const client = new Client();
      const stream = await subscribe();
      while (!client.isSynced || client.rows.size < 200) {
        for (const event of await stream.take(1)) client.take(event);
      }
      const other = (await open({ skipExisting: true })).getReader();
      for (let read = 0; read < 50; read++) await other.read();
      isOver = true;
      await writing;
      await readUntil(stream, client, written);
      assertEquals([client.rows.size, client.faults], [written, []]);
      await untilIdle();
      assertEquals(hub.liveSize, 2);
      await stream.close();
      await other.cancel();
    }),
);

Deno.test("a quiet stream gets its position every fifteen seconds or so", () =>
  withHub(sqlite, rows, {}, async ({ subscribe, advance, sql }) => {
    const stream = await subscribe({ filter: eq(rows.rank, 5) });
    await stream.untilSynced();
    const first = await stream.untilToken();
    await untilIdle();
    await sql(insert(1));
    await untilIdle();
    await advance(20_000, 500);
    const second = await stream.untilToken();
    assert(second !== first, "the position moves with what others see");
    await stream.close();
  }));

Deno.test("a stream lives fifteen to thirty minutes, and its client resumes where it was", () =>
  withHub(sqlite, rows, {}, async ({ subscribe, advance, hub, sql }) => {
    const stream = await subscribe();
    await stream.untilSynced();
    await advance(14.5 * 60_000, 500);
    assertEquals(hub.size, 1);
    await advance(17 * 60_000, 500);
    assertEquals(hub.size, 0);
    assertEquals(await stream.untilEnd(), []);
    await sql(insert(1));
    const again = await subscribe({ resumeFrom: stream.lastEventId });
    assertEquals((await again.take(1))[0]?.type, "added");
    await again.close();
  }));

Deno.test("a stream ends with the credentials of its user", () =>
  withHub(sqlite, rows, {}, async ({ subscribe, advance }) => {
    const stream = await subscribe({ user: user("ada", { exp: 60 }) });
    await stream.untilSynced();
    await advance(80_000, 500);
    const [last, ...more] = await stream.untilEnd();
    assertEquals([last?.data.reason, more.length], ["auth_expired", 0]);
  }));

Deno.test("a scope that turns to what is not recorded ends its streams", () => {
  let scope = eq(rows.rank, 1);
  const request = { policy: policyOf(() => scope), user: user("ada"), scope };
  const excluded = new Set([columnInfoOf(rows.title)]);
  return withHub(sqlite, rows, { excluded }, async ({ subscribe, advance, observations }) => {
    const stream = await subscribe(request);
    await stream.untilSynced();
    scope = eq(rows.title, "a");
    await advance(60_000);
    assertEquals((await stream.untilEnd()).map(({ data }) => data.reason), ["auth_expired"]);
    assertEquals(observations.map(({ kind }) => kind), ["stream_failed"]);
  });
});

Deno.test("a scope that never resolves ends its streams, and delays no other", () => {
  const silent = policyOf(() => new Promise<never>(() => {}));
  let requested = 0;
  const policy = policyOf(() => {
    requested++;
    return gt(rows.id, 0);
  });
  return withHub(sqlite, rows, {}, async ({ subscribe, advance, observations }) => {
    const request = { policy: silent, user: user("ada"), scope: eq(rows.rank, 1) };
    const streams = [
      await subscribe(request),
      await subscribe({ policy, user: user("bob"), scope: gt(rows.id, 0) }),
    ];
    for (const stream of streams) await stream.untilSynced();
    await advance(60_000);
    await advance(10_000);
    assertEquals((await streams[0]?.untilEnd())?.map(({ data }) => data.reason), ["auth_expired"]);
    assertEquals(observations.map(({ kind }) => kind), ["stream_failed"]);
    await advance(60_000);
    assertEquals(requested, 2, "again after a minute");
    await streams[1]?.close();
  });
});

Deno.test("a scope that changes starts its streams over, one that is withdrawn ends them", () => {
  let scope = eq(rows.rank, 1);
  let requested = 0;
  const policy = policyOf(() => {
    requested++;
    return scope;
  });
  return withHub(sqlite, rows, {}, async ({ subscribe, sql, advance, hub }) => {
    await sql(insert(1, 1));
    await sql(insert(2, 2));
    const request = { policy, user: user("ada"), scope };
    const streams = [await subscribe(request), await subscribe(request)];
    for (const stream of streams) await stream.untilSynced();
    await advance(60_000);
    assertEquals(requested, 1, "once for all streams of a user");
    scope = eq(rows.rank, 2);
    await advance(60_000);
    for (const stream of streams) {
      const [invalid, existing] = await stream.take(2);
      assertEquals(invalid?.data.reason, "scope_changed");
      assertEquals(existing?.data.items.map((row: { id: number }) => row.id), [2]);
    }
    await sql("UPDATE rows SET title = 'unseen' WHERE id = 1");
    await sql("UPDATE rows SET title = 'seen' WHERE id = 2");
    for (const stream of streams) {
      assertEquals((await stream.take(1))[0]?.data.item.title, "seen");
      assertEquals(stream.text.includes("unseen"), false);
    }
    scope = noRows;
    await advance(60_000);
    for (const stream of streams) {
      assertEquals((await stream.untilEnd()).map(({ data }) => data.reason), ["auth_expired"]);
    }
    assertEquals(hub.size, 0);
  });
});

Deno.test("two credentials of one user have their scopes evaluated separately", () => {
  const policy = policyOf(({ claims }) => eq(rows.rank, Number(claims?.["tenant"])));
  return withHub(sqlite, rows, {}, async ({ subscribe, sql, advance }) => {
    const open = (tenant: number) =>
      subscribe({ policy, user: user("ada", { tenant }), scope: eq(rows.rank, tenant) });
    const streams = [await open(1), await open(2)];
    for (const stream of streams) await stream.untilSynced();
    await untilIdle();
    await advance(60_000);
    await sql(insert(1, 1));
    await sql(insert(2, 2));
    const sent = [];
    for (const stream of streams) {
      const [event] = await stream.take(1);
      sent.push([event?.type, event?.data.item?.id]);
      await stream.close();
    }
    assertEquals(sent, [["added", 1], ["added", 2]]);
  });
});

Deno.test("a draining service ends its streams one after the other, with their positions", () =>
  withHub(sqlite, rows, {}, async ({ subscribe, advance, hub }) => {
    const streams = [];
    for (let count = 0; count < 200; count++) streams.push(await subscribe());
    for (const stream of streams) await stream.untilSynced();
    const drained = hub.drain(5_000);
    const openCounts = [];
    for (let step = 0; step < 110; step++) {
      await advance(50);
      openCounts.push(hub.size);
    }
    await drained;
    assert(
      (openCounts[48] ?? 0) > 80 && (openCounts[48] ?? 0) < 120,
      `${openCounts[48]} are left at half time`,
    );
    assertEquals(hub.size, 0);
    await assertRejects(() => subscribe(), Error, "stopping");
    for (const stream of streams) {
      await stream.untilEnd();
      assert(stream.lastEventId.startsWith("s."));
      assert((stream.retryMs ?? Infinity) <= 5_000);
    }
  }));

Deno.test("a client that disconnects leaves nothing in memory", () =>
  withHub(sqlite, rows, {}, async ({ open, hub, sql, observations }) => {
    const leaving = Promise.withResolvers<void>();
    const breaking = Promise.withResolvers<void>();
    const streams = [
      await open(),
      await open({ disconnected: leaving.promise }),
      await open({ disconnected: breaking.promise }),
    ];
    assertEquals(hub.size, 3);
    await streams[0]?.cancel();
    assertEquals(hub.size, 2);
    leaving.resolve();
    await untilIdle();
    assertEquals(hub.size, 1);
    breaking.reject(new Error("the answer was not sent"));
    await untilIdle();
    assertEquals(hub.size, 0);
    await sql(insert(1));
    await untilIdle();
    for (const stream of streams.slice(1)) await stream.cancel();
    assertEquals(observations, []);
  }));

Deno.test("a crowd that begins at once shares its pages, and reads few at a time", () => {
  let reading = 0;
  let most = 0;
  let reads = 0;
  const limits = { maxRowsPerPage: 10, maxConcurrentReads: 3 };
  return withHub(sqlite, rows, {
    limits,
    wrap: (log) => ({
      ...logMethods(log),
      readAt: async (statement) => {
        reads++;
        most = Math.max(most, ++reading);
        await untilIdle();
        reading--;
        return await log.readAt(statement);
      },
    }),
  }, async ({ subscribe, sql }) => {
    for (let id = 1; id <= 25; id++) await sql(insert(id, id % 5));
    const filters = [0, 1, 2, 3, 4].map((rank) => gt(rows.rank, rank - 1));
    const streams = await Promise.all(
      Array.from(
        { length: 100 },
        (_, index) => subscribe({ filter: filters[index % 5] ?? noRows }),
      ),
    );
    for (const stream of streams) await stream.untilSynced();
    assertEquals(most, 3);
    assert(reads < 5 * 5, `${reads} pages were read for 100 streams`);
    for (const stream of streams) await stream.close();
  });
});

Deno.test("a stream that ends with bytes unread while it reads a page reads nothing more", () => {
  const gone = Promise.withResolvers<void>();
  let reads = 0;
  return withHub(sqlite, rows, {
    limits: { maxRowsPerPage: 1 },
    wrap: (log) => ({
      ...logMethods(log),
      readAt: async (statement) => {
        reads++;
        gone.resolve();
        return await log.readAt(statement);
      },
    }),
  }, async ({ open, sql, hub }) => {
    for (let id = 1; id <= 5; id++) await sql(insert(id, id));
    const stream = await open({ disconnected: gone.promise });
    await untilIdle();
    assertEquals([reads, hub.size], [1, 0]);
    await stream.cancel();
  });
});

Deno.test("a step of thousands of rows reaches every stream whole", () =>
  withHub(
    sqlite,
    rows,
    { limits: { ringBuffer: { changes: 800, bytes: 10_000_000 } } },
    async (test) => {
      const stream = await test.subscribe();
      await stream.untilSynced();
      await test.sql(
        `WITH RECURSIVE n(id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM n WHERE id < 3000)
      INSERT INTO rows (id, rank, title) SELECT id, 1, 'row' FROM n`,
      );
      const client = new Client();
      await readUntil(stream, client, 3000);
      assertEquals([client.rows.size, client.faults], [3000, []]);
      await stream.close();
    },
  ));
