import { assert, assertEquals, assertRejects } from "@std/assert";
import {
  createApp,
  type Database,
  DatabaseError,
  integer,
  resource,
  table,
  text,
} from "../../mod.ts";
import type { Observation } from "../../exports/runtime.ts";
import { ResponseAborted } from "../../src/problem/response_aborted.ts";
import { systemRuntime } from "../../src/runtime/system_runtime.ts";
import { testOnEngines } from "../support/http.ts";
import type { Engine } from "../support/engines.ts";
import { gate, run } from "../support/scratch.ts";
import { recorded } from "./batch_support.ts";
import { asCsv, asNdjson, parseCsv, parseNdjson } from "./export_support.ts";

const rows = table("rows", {
  id: integer().primaryKey(),
  rank: integer().notNull(),
  body: text().notNull(),
});

interface Exporting {
  readonly db: Database;
  /** The statements since the rows were inserted. */
  readonly statements: string[];
  readonly observations: Observation[];
  get(query: string, headers?: Record<string, string>, signal?: AbortSignal): Promise<Response>;
}

interface Rows {
  readonly count: number;
  /** Wraps the driver of the service. */
  readonly through?: (db: Database) => Database;
}

/** Runs `work` against an app over these rows. */
async function withRows(
  engine: Engine,
  { count, through = (db) => db }: Rows,
  work: (exporting: Exporting) => Promise<void>,
): Promise<void> {
  const db = await engine.open();
  try {
    await db.createTables([rows]);
    await run(
      db,
      `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${count})
       INSERT INTO rows SELECT i, i % 97, 'body' FROM n`,
    );
    const statements: string[] = [];
    const observations: Observation[] = [];
    const watched = recorded(through(db), statements);
    const app = await createApp({
      db: watched,
      secret: "a secret for the tests only",
      runtime: systemRuntime((observation) => observations.push(observation)),
      resources: [
        resource(rows, {
          id: rows.id,
          auth: { public: { read: true } },
          capabilities: { enableExport: true },
          pagination: { maxLimit: 10_000 },
        }),
      ],
    });
    statements.length = 0;
    await work({
      db,
      statements,
      observations,
      get: (query, headers = {}, signal) =>
        app.fetch(
          new Request(`http://test/api/rows?${query}`, { headers, ...(signal && { signal }) }),
        ),
    });
  } finally {
    await db.close();
  }
}

/** Every row of the list, page by page. */
async function listed(exporting: Exporting, query: string): Promise<unknown[]> {
  const items: unknown[] = [];
  let cursor = "";
  while (true) {
    const answer = await exporting.get(`${query}&limit=10000&cursor=${cursor}`);
    const page = await answer.json();
    items.push(...page.items);
    if (!page.hasMore) return items;
    cursor = page.nextCursor;
  }
}

testOnEngines(
  "50,000 rows equal those of the list, and none is read before the reader pulls",
  (engine) =>
    withRows(engine, { count: 50_000 }, async (exporting) => {
      const { db, get, statements } = exporting;
      await run(db, "CREATE INDEX rows_by_rank ON rows (rank DESC, id)");
      const answer = await get("orderBy=rank:desc", asNdjson);
      assertEquals(statements.length, 1);
      let reads = 0;
      let arrived = "";
      const decoder = new TextDecoder();
      assert(answer.body !== null);
      for await (const piece of answer.body) {
        reads++;
        arrived += decoder.decode(piece, { stream: true });
        // Slow once, so that the service would have time to read ahead.
        if (reads % 10 === 0) {
          assertEquals(statements.length, reads);
          assertEquals((await get("limit=1")).status, 200);
          assertEquals(statements.pop()?.includes("LIMIT 2"), true);
        }
        assertEquals(statements.length, reads, "each page is read when the reader pulls");
        assert(piece.length < 512 * 1024);
      }
      assert(reads > 50_000 / 512 && reads < 120, `${reads} pages`);
      const expected = await listed(exporting, "orderBy=rank:desc");
      assertEquals(expected.length, 50_000);
      const lines = parseNdjson(arrived);
      // Compared one by one: a difference in one line should not print all of them.
      assertEquals(lines.length, expected.length);
      expected.forEach((item, index) => assertEquals(lines[index], item));
    }),
);

testOnEngines(
  "pages of wide rows have few of them, so that no page is large",
  (engine) =>
    withRows(engine, { count: 600 }, async ({ db, get }) => {
      // Narrow first, so that the estimated width is too small.
      for (let doubling = 0; doubling < 13; doubling++) {
        await run(db, "UPDATE rows SET body = body || body WHERE id >= 300");
      }
      const answer = await get("", asCsv);
      const decoder = new TextDecoder();
      const sizes: number[] = [];
      let arrived = "";
      assert(answer.body !== null);
      for await (const piece of answer.body) {
        sizes.push(piece.length);
        arrived += decoder.decode(piece, { stream: true });
      }
      assertEquals(parseCsv(arrived).length, 601);
      assert(sizes.slice(-5).every((size) => size < 300_000), sizes.join());
    }),
);

testOnEngines(
  "a reader that cancels ends the reading, and is no failure",
  (engine) =>
    withRows(engine, { count: 5_000 }, async ({ get, statements, observations }) => {
      const answer = await get("", asCsv);
      const reader = answer.body?.getReader();
      await reader?.read();
      await reader?.read();
      assertEquals(statements.length, 2);
      await reader?.cancel();
      for (let turn = 0; turn < 5; turn++) await (await get("limit=1")).text();
      assertEquals(statements.filter(isPage).length, 2);
      assertEquals(observations, []);
    }),
);

testOnEngines(
  "a reader that cancels during the reading of a page causes no further one",
  async (engine) => {
    const reading = gate();
    const going = gate();
    const through = (db: Database): Database => ({
      ...db,
      driver: {
        ...connectionOf(db),
        async query(statement) {
          if (statement.text.includes("LIMIT 256")) {
            reading.open();
            await going.passed;
          }
          return await db.driver.query(statement);
        },
      },
    });
    await withRows(engine, { count: 5_000, through }, async ({ get, statements }) => {
      const reader = (await get("", asCsv)).body?.getReader();
      await reader?.read();
      const second = reader?.read();
      await reading.passed;
      const left = reader?.cancel();
      going.open();
      await Promise.all([second, left]);
      await (await get("limit=1")).text();
      assertEquals(statements.filter(isPage).length, 2);
    });
  },
);

testOnEngines(
  "a database that fails after the first page aborts the answer, and is observed once",
  (engine) =>
    withRows(engine, { count: 5_000, through: failingAt(3) }, async (exporting) => {
      const { get, observations } = exporting;
      const answer = await get("", asCsv);
      assertEquals(answer.status, 200);
      await assertRejects(() => answer.text(), ResponseAborted);
      assertEquals(observations.map(({ kind }) => kind), ["answer_broke_off"]);
      const [observed] = observations;
      assertEquals(observed?.kind === "answer_broke_off" && observed.path, "/api/rows");
      const next = await get("", asCsv);
      assertEquals(parseCsv(await next.text()).length, 5_001, "the service keeps serving");
    }),
);

testOnEngines(
  "a client that left during a slow page was an error in the log",
  async (engine) => {
    const client = new AbortController();
    const through = (db: Database): Database => ({
      ...db,
      driver: {
        ...connectionOf(db),
        query(statement) {
          if (!statement.text.includes("LIMIT 256")) return db.driver.query(statement);
          // As drivers do, which watch the client.
          client.abort();
          throw new DatabaseError("too-slow", new Error("the client has left"));
        },
      },
    });
    await withRows(engine, { count: 5_000, through }, async ({ get, observations }) => {
      const answer = await get("", asCsv, client.signal);
      await assertRejects(() => answer.text());
      assertEquals(observations, []);
    });
  },
);

testOnEngines(
  "a database that fails at the first page is a 503",
  (engine) =>
    withRows(engine, { count: 100, through: failingAt(1) }, async ({ get, observations }) => {
      const answer = await get("", asNdjson);
      assertEquals(answer.status, 503);
      assertEquals(answer.headers.get("content-type"), "application/problem+json");
      assertEquals(answer.headers.get("retry-after"), "1");
      assertEquals((await answer.json()).code, "DATABASE_UNAVAILABLE");
      assertEquals(observations.map(({ kind }) => kind), ["request_failed"]);
    }),
);

testOnEngines(
  "rows inserted and deleted during an export neither stop it nor repeat others",
  (engine) =>
    withRows(engine, { count: 2_000 }, async ({ db, get }) => {
      const answer = await get("select=id", asNdjson);
      const seen: number[] = [];
      const decoder = new TextDecoder();
      assert(answer.body !== null);
      for await (const piece of answer.body) {
        const lines = parseNdjson(decoder.decode(piece));
        for (const line of lines) seen.push(Number((line as { id: number }).id));
        const last = seen.at(-1) ?? 0;
        // Deleted: the last sent row, from which the next page continues, and a later one.
        await run(db, `DELETE FROM rows WHERE id IN (${last}, ${last + 2})`);
        await run(db, `INSERT INTO rows VALUES (${-last}, 0, 'before the reader')`);
      }
      // By the sizes of the pages: 64, 256, then 512 each.
      const gone = [66, 323, 836, 1349, 1862];
      assertEquals(
        seen,
        Array.from({ length: 2_000 }, (_, index) => index + 1).filter((id) => !gone.includes(id)),
      );
    }),
);

/** A driver is an object of a class, whose methods a spread would lose. */
function connectionOf({ driver }: Database): Database["driver"] {
  return {
    dialect: driver.dialect,
    label: driver.label,
    query: (statement) => driver.query(statement),
    // By whichever query the test puts in the place of this one.
    reads() {
      return { query: (statement) => this.query(statement) };
    },
    transaction: (work) => driver.transaction(work),
    onCommit: (listener) => driver.onCommit(listener),
    isShared: driver.isShared,
    signals: driver.signals,
    close: () => driver.close(),
  };
}

/** Whether it reads a page of an export, whose sizes no list of these tests has. */
function isPage(text: string): boolean {
  return /LIMIT (?:64|256|512)$/.test(text);
}

/** Fails once, at the reading of the given page. */
function failingAt(page: number): (db: Database) => Database {
  let pages = 0;
  return (db) => ({
    ...db,
    driver: {
      ...connectionOf(db),
      query(statement) {
        if (isPage(statement.text) && ++pages === page) {
          return Promise.reject(new DatabaseError("unavailable", new Error("it is gone")));
        }
        return db.driver.query(statement);
      },
    },
  });
}
