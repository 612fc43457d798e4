import { assert, assertEquals } from "@std/assert";
import { createApp, resource } from "../../mod.ts";
import { systemRuntime } from "../../src/runtime/system_runtime.ts";
import type { Engine } from "../support/engines.ts";
import { testOnEngines } from "../support/http.ts";
import { run, runScript } from "../support/scratch.ts";
import { asCsv, asNdjson, parseCsv, parseNdjson } from "./export_support.ts";

const count = 1_500;

/** Views without a key, by a first column whose values differ between two executions. */
const views = {
  sqlite: {
    left_now: "ends - (julianday('now') - 2440587.5) * 86400",
    left_later: "strftime('%f', 'now') + ends",
    drawn: "abs(random() % 3)",
  },
  postgres: {
    left_now: "ends - extract(epoch FROM clock_timestamp())::float8",
    // It is the same within one statement, and another one in the next.
    left_later: "ends - extract(epoch FROM now())::float8",
    drawn: "floor(random() * 3)::int",
  },
};

testOnEngines(
  "an export that a client reads slowly has each row of a view once, although its values vary",
  async (engine) => {
    await withViews(engine, async ({ get, disturb }) => {
      for (const view of Object.keys(views.sqlite)) {
        for (const query of ["", "?filter=id>100", "?orderBy=-value"]) {
          const lines = await readSlowly(await get(`${view}${query}`, asNdjson), disturb);
          const ids = parseNdjson(lines.text).map((row) => Number(Object(row).id));
          const first = query.includes("filter") ? 101 : 1;
          assertEquals(sorted(ids), range(first, count), `${view}${query}`);
          assert(lines.pieces > 4, `it comes in ${lines.pieces} pieces`);
        }
        const csv = await readSlowly(await get(`${view}?select=value,id`, asCsv), disturb);
        const ids = parseCsv(csv.text).slice(1).map(([, id]) => Number(id));
        assertEquals(sorted(ids), range(1, count), view);
      }
    });
  },
);

interface Exporting {
  get(path: string, headers: Record<string, string>): Promise<Response>;
  /** Lets time pass in the database, and other statements run. */
  disturb(): Promise<void>;
}

async function withViews(engine: Engine, work: (exporting: Exporting) => Promise<void>) {
  const db = await engine.open();
  try {
    await runScript(
      db.driver,
      `CREATE TABLE offers (id INTEGER PRIMARY KEY, ends DOUBLE PRECISION NOT NULL);
      CREATE TABLE owners (id INTEGER PRIMARY KEY, note TEXT NOT NULL);`,
    );
    for (const [name, value] of Object.entries(views[db.dialect.engine])) {
      await runScript(
        db.driver,
        `CREATE VIEW ${name} AS SELECT ${value} AS value, o.id, w.note
          FROM offers o JOIN owners w ON w.id = o.id;`,
      );
    }
    // The order of the identities is not that of the values, and many values are equal.
    const rows = range(1, count);
    const offers = rows.map((id) => `(${id}, ${(id * 7) % 50}.001)`);
    await run(db, `INSERT INTO offers VALUES ${offers.join(", ")}`);
    await run(db, `INSERT INTO owners VALUES ${rows.map((id) => `(${id}, 'n')`).join(", ")}`);
    const { tables } = await db.introspect();
    const app = await createApp({
      db,
      secret: "a secret for the tests only",
      runtime: systemRuntime(() => {}),
      resources: tables.filter(({ name }) => name in views.sqlite).map((view) =>
        resource(view, {
          id: view.primaryKey.map(({ name }) => name),
          auth: { public: true },
          capabilities: { enableExport: true },
        })
      ),
    });
    await work({
      get: (path, headers) => app.fetch(new Request(`http://test/api/${path}`, { headers })),
      async disturb() {
        await new Promise((resolve) => setTimeout(resolve, 3));
        await run(db, "UPDATE owners SET note = note || 'x' WHERE id = 1");
      },
    });
    await app.close();
  } finally {
    await db.close();
  }
}

async function readSlowly(response: Response, disturb: () => Promise<void>) {
  assertEquals(response.status, 200);
  const decoder = new TextDecoder();
  let text = "";
  let pieces = 0;
  for await (const piece of response.body ?? []) {
    text += decoder.decode(piece, { stream: true });
    pieces++;
    await disturb();
  }
  return { text, pieces };
}

function sorted(ids: readonly number[]): readonly number[] {
  return [...ids].sort((left, right) => left - right);
}

function range(from: number, to: number): readonly number[] {
  return Array.from({ length: to - from + 1 }, (_, index) => from + index);
}
