import { assertEquals } from "@std/assert";
import { createApp, decimal, integer, real, resource, table } from "../../mod.ts";
import type { Observation } from "../../exports/runtime.ts";
import type { TableInfo } from "../../exports/schema.ts";
import { systemRuntime } from "../../src/runtime/system_runtime.ts";
import { type Engine, engines, everyEngine } from "../support/engines.ts";
import { runScript } from "../support/scratch.ts";
import { testUnless } from "../support/skip.ts";

// deno-lint-ignore no-explicit-any -- a test says what it expects by asserting it
type Json = any;

/** Aggregates the table `things` of the script, introspected or declared. */
async function withThings(
  engine: Engine,
  script: string,
  work: (
    fetchJson: (query: string) => Promise<Json>,
    seen: readonly Observation[],
  ) => Promise<void>,
  declared?: typeof amounts,
): Promise<void> {
  const db = await engine.open();
  try {
    await runScript(db.driver, script);
    const found: readonly TableInfo[] = (await db.introspect()).tables;
    const observations: Observation[] = [];
    const app = await createApp({
      db,
      secret: "a secret for the tests only",
      runtime: systemRuntime((observation) => observations.push(observation)),
      resources: declared === undefined
        ? found.map((table) =>
          resource<Record<string, unknown>, unknown>(table, {
            id: "id",
            auth: { public: { read: true } },
          })
        )
        : [resource(declared, { id: declared.id, auth: { public: { read: true } } })],
    });
    await work(async (query) => {
      const answer = await app.fetch(new Request(`http://test/api/things/aggregate?${query}`));
      const body = await answer.json();
      return answer.status === 200 ? body.groups : [answer.status, body.code];
    }, observations);
  } finally {
    await db.close();
  }
}

const amounts = table("things", {
  id: integer().primaryKey(),
  price: decimal({ precision: 12, scale: 2 }),
  open: decimal(),
  size: integer(),
  weight: real(),
});

const misfits = (observations: readonly Observation[]) =>
  observations.flatMap((seen) => seen.kind === "value_does_not_fit" ? seen.column : []);

for (const engine of engines.filter(({ name }) => name.includes("sqlite"))) {
  Deno.test(`numbers that are stored as text are added exactly (${engine.name})`, () =>
    withThings(
      engine,
      `CREATE TABLE things (id INTEGER PRIMARY KEY, price TEXT, open ANY, size INTEGER, weight REAL);
       INSERT INTO things (id, price, open) VALUES
         (1, '0.10', 1), (2, '0.20', 0.1), (3, 12, '1e-20'), (4, '-0.00', 9007199254740993);`,
      async (fetchJson, seen) => {
        assertEquals(await fetchJson("sum=price,open&avg=price"), [{
          key: null,
          sum: { price: "12.30", open: "9007199254740994.10000000000000000001" },
          avg: { price: "3.07500000" },
        }]);
        assertEquals(misfits(seen), []);
      },
      amounts,
    ));

  Deno.test(`a value that is no number is not added, and is observed (${engine.name})`, () =>
    withThings(
      engine,
      `CREATE TABLE things (
         id INTEGER PRIMARY KEY, price NUMERIC, open NUMERIC, size INTEGER, weight REAL);
       INSERT INTO things VALUES
         (1, 1.25, 0.30000000000000004, 7.5, 1e308), (2, '', 1e300, 'many', 1e308),
         (3, x'31', 2, 2, 'heavy'), (4, 3, NULL, 9223372036854775807, 0);`,
      async (fetchJson, seen) => {
        const [all] = await fetchJson("sum=price,open,size&avg=price,size&max=size");
        assertEquals(all.sum.price, "4.25");
        assertEquals(all.avg, { price: "1.06250000", size: (7.5 + 2 + 2 ** 63) / 4 });
        assertEquals(all.sum.open, `1${"0".repeat(299)}2.30000000000000004`);
        assertEquals(all.sum.size, "9223372036854775816.5");
        assertEquals(all.max.size, "many");
        assertEquals(misfits(seen).sort(), ["price", "size"]);
        const having = encodeURIComponent("sum_price>4.24;sum_price<4.26");
        assertEquals((await fetchJson(`having=${having}`)).length, 1);
        // The double beyond the greatest one.
        assertEquals((await fetchJson("sum=weight"))[0].sum, { weight: "Infinity" });
        assertEquals(misfits(seen).sort(), ["price", "size", "weight"]);
        const halves = await fetchJson("groupBy=id&sum=price&orderBy=-sum_price&limit=2");
        assertEquals(halves.map(({ key }: Json) => key.id), [4, 1]);
      },
      amounts,
    ));

  Deno.test(`texts that are equal under a collation are separate groups (${engine.name})`, () =>
    withThings(
      engine,
      `CREATE TABLE things (id INTEGER PRIMARY KEY, tag TEXT COLLATE NOCASE, day DATE, at DATETIME);
       INSERT INTO things VALUES (1, 'b', '2024-01-01', '2024-01-01 10:00:00'),
         (2, 'B', '2024-01-01', '2024-01-01 10:00:00'), (3, 'b', NULL, NULL);`,
      async (fetchJson) => {
        assertEquals(await fetchJson("groupBy=tag"), [
          { key: { tag: "B" }, count: 1 },
          { key: { tag: "b" }, count: 2 },
        ]);
        assertEquals((await fetchJson("min=tag&max=tag,at"))[0], {
          key: null,
          min: { tag: "B" },
          max: { tag: "b", at: "2024-01-01T10:00:00.000Z" },
        });
        assertEquals((await fetchJson("groupBy=tag&having=tag==b"))[0].count, 2);
        assertEquals((await fetchJson("having=max_at==2024-01-01T10:00:00Z")).length, 1);
      },
    ));
}

for (const engine of everyEngine.filter(({ name }) => name.startsWith("p"))) {
  testUnless(
    engine.ignore ?? null,
    `Postgres types without a kind are grouped (${engine.name})`,
    () =>
      withThings(
        engine,
        `CREATE TYPE mood AS ENUM ('sad', 'ok');
       CREATE TABLE things (id int PRIMARY KEY, mood mood, at timestamp, half float4, small int2,
         code char(4), exact numeric, address inet);
       INSERT INTO things VALUES
         (1, 'sad', '2024-01-01 10:00', 0.1, 32767, 'ab', 1.50, '10.0.0.1'),
         (2, 'ok', '2024-01-01 10:00', 0.2, 32767, 'ab', 1.5, '10.0.0.2'),
         (3, 'sad', NULL, NULL, NULL, NULL, NULL, NULL);`,
        async (fetchJson) => {
          assertEquals(await fetchJson("groupBy=mood&count=true&min=mood,address"), [
            { key: { mood: "sad" }, count: 2, min: { mood: "sad", address: "10.0.0.1" } },
            { key: { mood: "ok" }, count: 1, min: { mood: "ok", address: "10.0.0.2" } },
          ]);
          assertEquals((await fetchJson("groupBy=exact&sum=exact"))[0], {
            key: { exact: "1.5" },
            sum: { exact: "3" },
          });
          assertEquals((await fetchJson("sum=half,small&avg=small&max=at"))[0], {
            key: null,
            sum: { half: 0.1 + 0.2, small: 65534 },
            avg: { small: 32767 },
            max: { at: "2024-01-01T10:00:00.000Z" },
          });
          assertEquals((await fetchJson("groupBy=code&having=code==ab,min_mood==ok"))[0].count, 2);
          assertEquals(
            (await fetchJson("having=max_at==2024-01-01T10:00:00Z;max_half==0.2")).length,
            1,
          );
        },
      ),
  );

  testUnless(
    engine.ignore ?? null,
    `NaN makes a sum NaN, and is observed (${engine.name})`,
    () =>
      withThings(
        engine,
        `CREATE TABLE things (id int PRIMARY KEY, price numeric(12,2), open numeric, size int8,
         weight float8);
       INSERT INTO things VALUES (1, 'NaN', 1, 1, 1e308), (2, 1, 2, 1, 1e308);`,
        async (fetchJson, seen) => {
          assertEquals((await fetchJson("sum=price,open,size"))[0].sum, {
            ...{ price: "NaN", open: "3", size: 2 },
          });
          assertEquals(misfits(seen), ["price"]);
          // Postgres itself refuses to add doubles to more than the greatest one.
          assertEquals(await fetchJson("sum=weight"), [400, "INVALID_PARAMETER"]);
        },
        amounts,
      ),
  );
}

const server = engines.find(({ name }) => name === "postgres");
testUnless(server?.ignore ?? null, "a loose collation of Postgres merges no groups", () => {
  if (server === undefined) throw new Error("There is no such engine");
  return withThings(
    server,
    `CREATE COLLATION loose (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
     CREATE TABLE things (id int PRIMARY KEY, tag text COLLATE loose);
     INSERT INTO things VALUES (1, 'b'), (2, 'B'), (3, 'b');`,
    async (fetchJson) => {
      const both = [{ key: { tag: "B" }, count: 1 }, { key: { tag: "b" }, count: 2 }];
      assertEquals(await fetchJson("groupBy=tag"), both);
      assertEquals(await fetchJson("groupBy=tag&having=tag==b"), both.slice(1));
      assertEquals((await fetchJson("min=tag&max=tag"))[0], {
        key: null,
        min: { tag: "B" },
        max: { tag: "b" },
      });
    },
  );
});
