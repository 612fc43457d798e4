import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { all, resource } from "../../mod.ts";
import type { Engine } from "../support/engines.ts";
import { type Service, testOnEngines, withService } from "../support/http.ts";
import { run, runScript } from "../support/scratch.ts";
import { asCsv, asNdjson, parseNdjson } from "./export_support.ts";

const shared = `
CREATE TABLE offers (id INTEGER PRIMARY KEY, title TEXT NOT NULL, ends DOUBLE PRECISION NOT NULL);
CREATE TABLE owners (id INTEGER PRIMARY KEY, offer_id INTEGER NOT NULL, name TEXT NOT NULL);
CREATE VIEW grouped AS SELECT o.title, count(*) AS owners FROM offers o JOIN owners w ON w.offer_id = o.id GROUP BY o.title;
CREATE VIEW named AS SELECT o.id, w.name FROM offers o JOIN owners w ON w.offer_id = o.id;
`;
const scripts = {
  sqlite: `${shared}
CREATE VIEW open_offers AS SELECT o.ends - (julianday('now') - 2440587.5) * 86400 AS time_left, o.id, o.title FROM offers o JOIN owners w ON w.id = o.id;
CREATE VIEW drawn AS SELECT abs(random() % 2) AS coin, o.id FROM offers o JOIN owners w ON w.id = o.id;
CREATE VIEW simple AS SELECT id, title, random() AS chance FROM offers;`,
  postgres: `${shared}
CREATE VIEW open_offers AS SELECT o.ends - extract(epoch FROM clock_timestamp())::float8 AS time_left, o.id, o.title FROM offers o JOIN owners w ON w.id = o.id;
CREATE VIEW drawn AS SELECT floor(random() * 2)::int AS coin, o.id FROM offers o JOIN owners w ON w.id = o.id;
CREATE VIEW simple AS SELECT id, title, random() AS chance FROM offers;`,
};

const count = 230;

testOnEngines(
  "a walk along a view whose values vary is refused, and never loses rows",
  async (engine) => {
    await withViews(engine, async ({ get }) => {
      for (const view of ["open_offers", "drawn"]) {
        for (const limit of [1, 7, 100]) {
          const first = await get(`/api/${view}?limit=${limit}`);
          assertEquals(first.status, 200);
          assertEquals(first.body.hasMore, true);
          const walked = await walk(get, `/api/${view}?limit=${limit}`);
          // By chance a coin may be the same for some rows; all of the rows before a page never are.
          assertEquals(walked.status, 400, `${view} by ${limit}`);
          assertEquals(walked.code, "CURSOR_INVALID");
          assertStringIncludes(walked.detail, "--key");
        }
        const whole = await get(`/api/${view}?limit=500`);
        assertEquals(ids(whole.body.items), numbers(count));
        assertEquals(whole.body.nextCursor, null);
      }
    });
  },
);

testOnEngines("an export of a view whose values vary has every row once", async (engine) => {
  await withViews(engine, async ({ get }) => {
    for (const view of ["open_offers", "drawn"]) {
      const lines = await get(`/api/${view}`, asNdjson);
      assertEquals(ids(parseNdjson(lines.body)), numbers(count));
      const csv = await get(`/api/${view}?limit=150&orderBy=-id`, asCsv);
      assertEquals(csv.body.trim().split("\r\n").length, 151);
    }
  });
});

testOnEngines(
  "a walk along grouped and joined rows without a key gives each row once",
  async (engine) => {
    await withViews(engine, async ({ get, db }) => {
      for (const view of ["grouped", "named"]) {
        const whole = await get(`/api/${view}?limit=1000&totalCount=true`);
        for (const query of ["", "&orderBy=-title,owners", "&select=title"]) {
          if (view === "named" && query.includes("title")) continue;
          const walked = await walk(get, `/api/${view}?limit=9&totalCount=true${query}`);
          assertEquals(walked.status, 200, `${view} ${query}`);
          assertEquals(walked.items.length, whole.body.items.length);
          assertEquals(walked.totals, new Set([whole.body.totalCount]));
        }
        const { items } = await walk(get, `/api/${view}?limit=9`);
        assertEquals(items, whole.body.items);
        const skipped = await get(`/api/${view}?limit=9&offset=18`);
        assertEquals(skipped.body.items, whole.body.items.slice(18, 27));
        const second = await get(`/api/${view}?limit=9&cursor=${skipped.body.nextCursor}`);
        assertEquals(second.body.items, whole.body.items.slice(27, 36));
      }
      const { body: { nextCursor } } = await get("/api/grouped?limit=9");
      await run(db, "INSERT INTO owners VALUES (1000, 1, 'new')");
      const { status, body } = await get(`/api/grouped?limit=9&cursor=${nextCursor}`);
      assertEquals([status, body.code], [400, "CURSOR_INVALID"]);
    });
  },
);

testOnEngines(
  "a view with a key walks by it, and by a value that varies it says so",
  async (engine) => {
    await withViews(engine, async ({ get, db }) => {
      const { tables } = await db.introspect();
      const simple = tables.find(({ name }) => name === "simple");
      assertEquals(simple?.columns.map(({ varies }) => varies), [false, false, true]);
      for (const orderBy of ["", "-title", "title,id"]) {
        const { status, items } = await walk(get, `/api/simple?limit=11&orderBy=${orderBy}`);
        assertEquals(status, 200);
        assertEquals(ids(items), numbers(count));
      }
      const { status, detail } = await walk(get, "/api/simple?limit=11&orderBy=chance");
      assertEquals(status, 400);
      assertStringIncludes(detail, "--key");
      const lines = await get("/api/simple?orderBy=chance", asNdjson);
      assertEquals(ids(parseNdjson(lines.body)), numbers(count));
    });
  },
);

interface Walked {
  readonly status: number;
  readonly code: string;
  readonly detail: string;
  readonly items: readonly Readonly<Record<string, unknown>>[];
  readonly totals: ReadonlySet<unknown>;
}

async function walk(get: Service["get"], path: string): Promise<Walked> {
  const items: Readonly<Record<string, unknown>>[] = [];
  const totals = new Set<unknown>();
  for (let cursor = "";;) {
    const { status, body } = await get(`${path}&cursor=${cursor}`);
    if (status !== 200) return { status, code: body.code, detail: body.detail, items, totals };
    items.push(...body.items);
    totals.add(body.totalCount);
    assertEquals(body.hasMore, body.nextCursor !== null);
    if (!body.hasMore) return { status, code: "", detail: "", items, totals };
    cursor = body.nextCursor;
    assert(items.length <= 1_000);
  }
}

function ids(items: readonly unknown[]): readonly number[] {
  return items.map((item) => Number(Object(item).id)).sort((left, right) => left - right);
}

function numbers(to: number): readonly number[] {
  return Array.from({ length: to }, (_, index) => index + 1);
}

async function withViews(
  engine: Engine,
  work: (service: Service) => Promise<void>,
): Promise<void> {
  const db = await engine.open();
  await runScript(db.driver, scripts[db.dialect.engine]);
  const offers = numbers(count).map((id) => `(${id}, 'offer ${id % 90}', ${id % 10}.5)`);
  await run(db, `INSERT INTO offers VALUES ${offers.join(", ")}`);
  const owners = numbers(count).map((id) => `(${id}, ${id}, 'owner ${id % 40}')`);
  await run(db, `INSERT INTO owners VALUES ${owners.join(", ")}`);
  const { tables } = await db.introspect();
  await withService(
    { ...engine, open: () => Promise.resolve(db) },
    [],
    () => ({
      resources: tables.map((table) =>
        resource(table, {
          id: table.primaryKey.map(({ name }) => name),
          auth: { public: true, create: () => all() },
          capabilities: { enableExport: true },
          pagination: { maxLimit: 1_000 },
        })
      ),
    }),
    work,
  );
}
