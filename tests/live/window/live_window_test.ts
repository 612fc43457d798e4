import { assert, assertEquals } from "@std/assert";
import { parseOrder } from "../../../src/plan/order.ts";
import { Problem } from "../../../src/problem/problem.ts";
import type { SubscribeRequest } from "../../../src/live/stream/stream_request.ts";
import { integer, text } from "../../../src/schema/column_builder.ts";
import { table } from "../../../src/schema/table.ts";
import { columnInfoOf, tableInfoOf } from "../../../src/schema/table_like.ts";
import type { Row } from "../../../src/schema/table_info.ts";
import { allRows } from "../../../src/filter/filter.ts";
import { type LiveView, noRowsShown } from "../../../src/live/live_view.ts";
import { relationStep } from "../../../src/schema/relation.ts";
import { engines } from "../../support/engines.ts";
import type { ServerEvent } from "../../support/event_stream.ts";
import { insertRows } from "../../support/http.ts";
import {
  close,
  readAll,
  type TestHub,
  type TestHubOptions,
  untilIdle,
  withHub,
} from "../hub_support.ts";
import { logMethods } from "../log_methods.ts";
import { ada, notes, withNotes } from "../notes.ts";

const rows = table("rows", { id: integer().primaryKey(), rank: integer(), title: text() });
const info = tableInfoOf(rows);
const parents = table("parents", { id: integer().primaryKey() });
/** Shows the rows as they are, and says that they include parents. */
const including: LiveView = {
  ...{ ...noRowsShown, key: "including", shape: "including", present: (rows) => rows },
  shown: [{
    relation: {
      ...{ name: "parent", type: "belongsTo", toMany: false, filterable: true },
      ...{ owner: info, target: tableInfoOf(parents) },
      steps: [relationStep(tableInfoOf(parents), [{
        own: columnInfoOf(rows.rank),
        other: columnInfoOf(parents.id),
      }])],
    },
    ...{ filter: allRows, links: allRows, isIndexed: false, shown: [] },
  }],
};
const [sqlite] = engines;
if (sqlite === undefined) throw new Error("There is an engine");
const engine = sqlite;

/** The request of the first `limit` rows by descending rank. */
function top(limit: number): Partial<SubscribeRequest> {
  const sortable = new Set(info.columns);
  const order = parseOrder("-rank", info, { sortable, readable: info.columns });
  return { window: { order, limit } };
}

const line = ({ type, data }: ServerEvent): string => {
  if (type === "invalidate") return data.reason;
  if (type === "removed") return `-${data.id}`;
  if (type === "existing") return data.items.map(({ id }: Row) => id).join();
  return `${type === "added" ? "+" : "~"}${data.id}`;
};

/** What happens before and during the next read. */
interface Reads {
  count: number;
  /** The feed waits for this promise. */
  held: Promise<unknown>;
  before(): Promise<unknown>;
  during(): Promise<unknown>;
}

/** Runs with the rows 1 to 5 of these ranks. */
function withReads(
  work: (
    test: TestHub & { readonly write: (...texts: string[]) => Promise<void> },
    reads: Reads,
  ) => Promise<void>,
  options: TestHubOptions = {},
): Promise<void> {
  const idle = () => Promise.resolve();
  const reads: Reads = { count: 0, held: idle(), before: idle, during: idle };
  return withHub(engine, rows, {
    ...options,
    wrap: (log) => ({
      ...logMethods(log),
      readAt: async (statement, limits) => {
        reads.count++;
        const { before, during } = reads;
        Object.assign(reads, { before: idle, during: idle });
        await before();
        const result = await log.readAt(statement, limits);
        await during();
        return result;
      },
      next: async (from) => {
        await reads.held;
        return log.next(from);
      },
    }),
  }, async (test) => {
    for (let id = 1; id <= 5; id++) await test.sql(insert(id, 10 * id));
    await work({
      ...test,
      async write(...texts) {
        for (const text of texts) await test.sql(text);
        // The log is read, then the window, and perhaps once more.
        for (const ms of [60, 1, 1]) await test.advance(ms);
      },
    }, reads);
  });
}

const update = (id: number, set: string) => `UPDATE rows SET ${set} WHERE id = ${id}`;
const insert = (id: number, rank: number) => `INSERT INTO rows (id, rank) VALUES (${id}, ${rank})`;

Deno.test("only a row that leaves a full window makes the database read", () =>
  withReads(async ({ subscribe, write }, reads) => {
    const client = readAll(await subscribe(top(3)), line);
    await untilIdle();
    assertEquals([client.sent.splice(0), reads.count], [["5,4,3"], 1]);
    // Each item: the writes of a moment, the events, and the number of reads until then.
    const moments: readonly (readonly [string[], string[], number])[] = [
      [[insert(6, 35), insert(7, 60), update(4, "title = 'b'")], ["-3", "+6", "-6", "+7", "~4"], 1],
      // A change after the end of the window is not sent.
      [[insert(8, 5), update(1, "rank = 6"), "DELETE FROM rows WHERE id = 2"], [], 1],
      [["DELETE FROM rows WHERE id = 5"], ["-5", "+6"], 2],
      // The rows change places, and the last one changes without losing its place.
      [[update(4, "rank = 70"), update(6, "title = 'c'")], ["~4", "~6"], 2],
      [[update(6, "rank = 36"), update(3, "rank = 37")], ["~6", "-6", "+3"], 2],
      // Equal ranks are in the order of the primary key.
      [[insert(9, 37), insert(0, 37)], ["-3", "+0"], 2],
      // Another row may now precede the last one.
      [[update(0, "rank = 36")], ["-0", "+3"], 3],
      [[update(7, "rank = 1")], ["-7", "+9"], 4],
      [[update(4, "rank = NULL")], ["-4", "+0"], 5],
      [["DELETE FROM rows WHERE id NOT IN (1, 4)"], ["-3", "-9", "-0", "+1", "+4"], 6],
      // Without a row after its end, a window needs no read.
      [[insert(2, 3)], ["+2"], 6],
      [["DELETE FROM rows WHERE id = 1"], ["-1"], 7],
      [["DELETE FROM rows WHERE id = 2"], ["-2"], 7],
    ];
    for (const [writes, events, count] of moments) {
      await write(...writes);
      assertEquals([client.sent.splice(0), reads.count], [events, count], writes.join());
    }
    await close(client);
  }));

Deno.test("streams of equal windows share every read, and others do not", () =>
  withReads(async ({ subscribe, write, hub }, reads) => {
    const clients = [];
    for (const limit of [2, 2, 2, 3]) clients.push(readAll(await subscribe(top(limit)), line));
    await untilIdle();
    assertEquals(reads.count, 2);
    await write("DELETE FROM rows WHERE id = 5");
    assertEquals(reads.count, 4);
    assertEquals(clients.map(({ sent }) => sent), [
      ...Array(3).fill(["5,4", "-5", "+3"]),
      ["5,4,3", "-5", "+2"],
    ]);
    assertEquals([hub.size, hub.liveSize], [4, 4]);
    for (const client of clients) await close(client);
  }));

Deno.test("changes during a read are neither lost nor cause more than one further read", () =>
  withReads(async ({ subscribe, write, sql }, reads) => {
    const client = readAll(await subscribe(top(2)), line);
    await untilIdle();
    const during = (...texts: string[]) => {
      reads.during = async () => {
        for (const text of texts) await sql(text);
        await untilIdle();
      };
    };
    // The row is outside of the rows that were read.
    during(insert(8, 1), "UPDATE rows SET rank = 2 WHERE id = 8");
    await write("DELETE FROM rows WHERE id = 5");
    await write();
    assertEquals([client.sent.splice(0), reads.count], [["5,4", "-5", "+3"], 2]);
    // Rows enter: the state that was read is shown, and then the changes.
    during(insert(6, 60), insert(7, 70), "DELETE FROM rows WHERE id = 3");
    await write(update(4, "rank = 1"));
    await write();
    assertEquals([client.sent.splice(0), reads.count], [["-4", "+2", "-2", "+6", "-3", "+7"], 3]);
    // Rows leave: the window is read again.
    during("DELETE FROM rows WHERE id = 6", "DELETE FROM rows WHERE id = 2", insert(9, 9));
    await write("DELETE FROM rows WHERE id = 7");
    await write();
    assertEquals([client.sent, reads.count], [["-7", "+2", "-6", "-2", "+1", "+9"], 5]);
    await close(client);
  }));

Deno.test("a row that a read has seen between two changes of one step does not stay", () =>
  withReads(async ({ subscribe, write, sql, advance }, reads) => {
    const client = readAll(await subscribe({ ...top(2), view: including }), line);
    await untilIdle();
    // Events with related rows combine the changes of a step: here to no change at all.
    const { promise, resolve } = Promise.withResolvers<void>();
    reads.before = async () => {
      reads.held = promise;
      await sql(insert(9, 90));
    };
    reads.during = async () => {
      await sql("DELETE FROM rows WHERE id = 9");
      resolve();
    };
    await write("DELETE FROM rows WHERE id = 5");
    await advance(1);
    await write();
    assertEquals([client.sent, reads.count], [["5,4", "-5", "+9", "-9", "+3"], 3]);
    await close(client);
  }, { related: [parents] }));

Deno.test("a client that comes again gets all rows, unless they are certainly the same", () =>
  withReads(async ({ subscribe, write }, reads) => {
    const other = await subscribe(top(2));
    await other.untilSynced();
    const token = await other.untilToken();
    const again = async (request: Partial<SubscribeRequest>) => {
      const client = readAll(await subscribe({ ...request, resumeFrom: token }), line);
      await untilIdle();
      await close(client);
      return client.sent;
    };
    assertEquals(await again(top(2)), []);
    assertEquals(await again(top(3)), ["window_reread", "5,4,3"]);
    assertEquals(await again({}), ["scope_changed", "1,2,3,4,5"]);
    assertEquals(await again({ ...top(2), filter: { kind: "none" } }), ["window_reread", ""]);
    await write(insert(6, 60));
    const { count } = reads;
    assertEquals(await again(top(2)), ["window_reread", "6,5"]);
    assertEquals(reads.count, count, "the window was in memory");
    await other.close();
  }));

Deno.test("a client that does not read receives the difference to the rows that it has", () =>
  withReads(async ({ open, write }) => {
    const reader = (await open(top(2))).getReader();
    await untilIdle();
    for (let id = 6; id < 24; id++) await write(insert(id, 10 * id));
    await write("UPDATE rows SET title = hex(zeroblob(40000)) WHERE id = 23");
    let text = "";
    while (!/"id":23,.*0000/.test(text)) {
      text += new TextDecoder().decode((await reader.read()).value);
    }
    assert(text.split("event: ").length < 10, "events are put together");
    await reader.cancel();
  }, { limits: { maxUnreadBytes: 100 } }));

Deno.test("a window whose rows are too large ends its streams", () =>
  withReads(async ({ subscribe, write }) => {
    const client = readAll(await subscribe(top(3)), line);
    await untilIdle();
    await write("UPDATE rows SET title = hex(zeroblob(2000000)) WHERE id = 5");
    await client.end;
    assertEquals(client.sent, ["5,4,3", "query_too_expensive"]);
  }));

Deno.test("an unrecorded column is no order of a stream, but rows contain it", () =>
  withReads(async ({ subscribe, write }, reads) => {
    const sortable = new Set(info.columns);
    const order = parseOrder("title", info, { sortable, readable: info.columns });
    const refused = await subscribe({ window: { order, limit: 1 } }).catch((error) => error);
    assert(
      refused instanceof Problem && refused.message.includes('orderBy: it asks about "title"'),
    );
    const client = readAll(await subscribe(top(1)), line);
    await untilIdle();
    await write("UPDATE rows SET title = 'b', rank = 51 WHERE id = 5");
    assertEquals([client.sent, reads.count], [["5", "~5"], 2]);
    await close(client);
  }, { excluded: new Set([columnInfoOf(rows.title)]) }));

Deno.test("the parameters of a window are checked, and its first event says how many rows it keeps", () =>
  withNotes(engine, {}, async ({ db, get, subscribe }) => {
    const problem = async (query: string) => {
      const { status, body } = await get(`/api/notes/subscribe?${query}`, ada);
      return `${status} ${body.detail}`;
    };
    assertEquals(
      await problem("limit=2&skipExisting=true"),
      '400 Cannot use "skipExisting" with "limit": the rows depend on each other',
    );
    for (const name of ["cursor", "totalCount"]) {
      assertEquals(
        await problem(`limit=2&skipExisting=false&${name}=true`),
        `400 Cannot use "${name}" here: a stream begins with the first rows`,
      );
    }
    assert(
      (await problem("limit=2&orderBy=owner.name")).startsWith('400 Cannot order by "owner.name"'),
    );
    assertEquals(
      await problem("limit=0"),
      "400 Cannot use this limit: it must be a whole number over 0",
    );
    assert(/ranc.*mean.*rank/.test(await problem("limit=2&orderBy=-ranc")));
    assert((await problem("limit=2&orderBy=secret")).startsWith("400 Cannot order by"));

    await insertRows(db, notes, [{ id: 1, title: "a", rank: 1 }, { id: 2, title: "b", rank: 2 }]);
    const stream = await subscribe("/api/notes/subscribe?limit=1000&orderBy=-rank&select=title");
    const [existing] = await stream.take(1);
    assertEquals(existing?.data, {
      ...{ type: "existing", items: [{ title: "b" }, { title: "a" }], ids: [2, 1] },
      ...{ hasMore: false, limit: 100 },
    });
    await stream.close();
  }));
