import { assert, assertEquals } from "@std/assert";
import { bytes, createApp, integer, json, resource, table, text } from "../../mod.ts";
import { systemRuntime } from "../../src/runtime/system_runtime.ts";
import { type Engine, everyEngine } from "../support/engines.ts";
import {
  insertRows,
  type Service,
  testOnEngines,
  testOnEveryEngine,
  withService,
} from "../support/http.ts";
import { runScript } from "../support/scratch.ts";

const topics = table("topics", { slug: text().primaryKey(), about: text() });
const letters = table("letters", {
  id: integer().primaryKey(),
  title: text().notNull(),
  body: text(),
  data: json(),
  raw: bytes(),
  topicSlug: text().references(() => topics.slug).as("topic_slug"),
  secret: text(),
});

const pages = table("pages", {
  part: text().primaryKey(),
  id: integer().primaryKey(),
  body: text(),
});

const ui = "/__service/ui/api";

function withLetters(engine: Engine, work: (service: Service) => Promise<void>): Promise<void> {
  return withService(engine, [topics, letters, pages], () => ({
    adminUI: { authorize: () => true },
    // Statements over a hundred megabytes take seconds of a busy machine.
    queryTimeoutMs: 60_000,
    resources: [
      resource(topics, { id: topics.slug, auth: { public: { read: true } } }),
      resource(pages, { id: [pages.part, pages.id], auth: { public: { read: true } } }),
      resource(letters, {
        id: letters.id,
        auth: { public: { read: true } },
        fields: {
          readable: ["id", "title", "body", "data", "raw", "topicSlug"],
        },
        computed: { words: (row) => row.body?.split(" ").length ?? 0 },
        relations: {
          topic: { type: "belongsTo", resource: topics, foreignKey: letters.topicSlug },
        },
      }),
    ],
  }), work);
}

const rocket = "🚀";

function letter(id: number, more: Partial<typeof letters.$inferSelect> = {}) {
  const empty = { title: "t", body: null, data: null, raw: null, topicSlug: null, secret: null };
  return { ...empty, ...more, id };
}

function base64(length: number): string {
  return btoa(Array.from({ length }, (_, index) => String.fromCharCode(index % 256)).join(""));
}

testOnEveryEngine(
  "a preview cuts what is longer, and names it",
  (engine) =>
    withLetters(engine, async ({ db, get }) => {
      await insertRows(db, topics, [{ slug: "s".repeat(40), about: "a".repeat(40) }]);
      await insertRows(db, letters, [
        letter(1, { body: "x".repeat(11), data: { a: "1234567890" }, raw: base64(11) }),
        letter(2, { body: "x".repeat(10), data: "12345678", raw: base64(10) }),
        letter(3),
        letter(4, { body: rocket.repeat(11), data: [rocket, rocket, rocket, rocket, 1] }),
        letter(5, { body: rocket.repeat(10), data: 1234567 }),
        letter(6, {
          body: `ab${"語".repeat(60)}`,
          title: "é".repeat(300),
          secret: "xyzzy-".repeat(9),
        }),
        letter(7, { topicSlug: "s".repeat(40), data: { b: 1 } }),
        letter(8, { title: "", body: "", data: "", raw: "" }),
      ]);
      const { status, headers, body } = await get(`${ui}/letters?preview=10&include=topic`);
      assertEquals(status, 200, body.detail);
      assertEquals(headers.get("etag"), null);
      const [first, second, third, fourth, fifth, sixth, seventh, eighth] = body.items;
      const bare = { topic: null, topicSlug: null };
      assertEquals(first, {
        ...bare,
        ...{ id: 1, title: "t", body: "x".repeat(10), data: first.data, raw: base64(10) },
        _cut: ["body", "data", "raw"],
      });
      // As the database has the text of the document, with or without spaces.
      assert(/^\{"a": ?"123/.test(first.data) && first.data.length === 10, first.data);
      assertEquals(second, {
        ...bare,
        ...{ id: 2, title: "t", body: "x".repeat(10), data: "12345678", raw: base64(10) },
      });
      assertEquals(third, { ...bare, id: 3, title: "t", body: null, data: null, raw: null });
      assertEquals(fourth.body, rocket.repeat(10));
      assertEquals(Array.from(fourth.data).length, 10);
      assertEquals(fourth._cut, ["body", "data"]);
      assertEquals([fifth.body, fifth.data, fifth._cut], [rocket.repeat(10), 1234567, undefined]);
      assertEquals([sixth.body, sixth._cut], [`ab${"語".repeat(8)}`, ["title", "body"]]);
      assertEquals(sixth.title, "é".repeat(10));
      // Nothing that is empty is NULL.
      assertEquals(eighth, { ...bare, id: 8, title: "", body: "", data: "", raw: "" });
      // Keys are whole, and what is included.
      assertEquals(seventh, {
        ...{ id: 7, title: "t", body: null, data: { b: 1 }, raw: null },
        topicSlug: "s".repeat(40),
        topic: { slug: "s".repeat(40), about: "a".repeat(40) },
      });
    }),
);

testOnEveryEngine(
  "a page of rows of a megabyte is small in a preview",
  (engine) =>
    withLetters(engine, async ({ db, get }) => {
      const isSqlite = engine.name.includes("sqlite");
      const million = isSqlite
        ? "replace(hex(zeroblob(500000)), '00', 'ab')"
        : "repeat('ab', 500000)";
      await db.driver.query({
        text: `INSERT INTO letters (id, title, body) WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL
        SELECT i + 1 FROM n WHERE i < 100) SELECT i, 't', ${million} FROM n`,
        values: [],
      });
      const whole = await get(`${ui}/letters?limit=100`);
      assertEquals([whole.status, whole.body.details.part], [422, "rows"]);
      const bySize = await get(`${ui}/letters?limit=100&preview=200&orderBy=-body`);
      assertEquals([bySize.status, bySize.body.details.part], [422, "rows"], "sort keys are whole");
      for (const order of ["id", "title,-id"]) {
        const { status, body } = await get(`${ui}/letters?limit=100&preview=200&orderBy=${order}`);
        assertEquals(status, 200, body.detail);
        assertEquals(body.items.length, 100);
        for (const { body: cut, _cut } of body.items) {
          assertEquals([cut, _cut], ["ab".repeat(100), ["body"]]);
        }
        assert(JSON.stringify(body).length < 50_000);
      }
      const one = await get(`${ui}/letters/1`);
      assertEquals(one.body.body.length, 1_000_000);
    }),
);

/** The values of `id` over all pages of a list. */
async function walked({ get }: Service, list: string): Promise<unknown[]> {
  const found: unknown[] = [];
  for (let cursor: string | null = ""; cursor !== null;) {
    const { status, body } = await get(`${ui}/${list}&cursor=${encodeURIComponent(cursor)}`);
    assertEquals(status, 200, body.detail);
    found.push(...body.items.map((item: Record<string, unknown>) => item.id));
    assert(found.length < 100, "the cursors lead back");
    cursor = body.nextCursor;
  }
  return found;
}

testOnEngines(
  "filters, the order and cursors of a preview have whole values",
  (engine) =>
    withLetters(engine, async (service) => {
      const rows = Array.from({ length: 24 }, (_, id) => {
        const end = `${(id * 37) % 24}`.padStart(2, "0");
        const body = id % 7 === 0 ? null : `${"same ".repeat(id % 2 === 0 ? 9 : 900)}${end}`;
        return letter(id, { body, title: `${"t".repeat(20)}${id % 3}` });
      });
      await insertRows(service.db, letters, rows);
      await insertRows(service.db, pages, rows.map(({ id, body }) => ({ id, part: "p", body })));
      for (const order of ["body", "-body", "title,-body", "-title"]) {
        const list = `letters?select=id&orderBy=${order}`;
        const all = await walked(service, `${list}&limit=50`);
        for (const limit of [1, 2, 5, 23, 24]) {
          assertEquals(await walked(service, `${list}&preview=7&limit=${limit}`), all, order);
        }
      }
      const all = await walked(service, "pages?orderBy=-body&limit=50");
      assertEquals(await walked(service, "pages?orderBy=-body&limit=3&preview=1"), all);
      const filter = encodeURIComponent(`body=endswith=" 04"`);
      const query = `preview=3&filter=${filter}&totalCount=true&select=body`;
      const { body } = await service.get(`${ui}/letters?${query}`);
      assertEquals([body.items, body.totalCount], [[{ body: "sam", _cut: ["body"] }], 1]);
    }),
);

testOnEngines(
  "a preview is a parameter of the dashboard's lists alone",
  (engine) =>
    withLetters(engine, async ({ db, get }) => {
      await insertRows(db, letters, [letter(1, { body: "x".repeat(30) })]);
      const { body } = await get("/api/letters?preview=5");
      assertEquals([body.items[0].body.length, body.items[0]._cut], [30, undefined]);
      assertEquals((await get("/api/letters?preview=none")).status, 200);
      for (const wrong of ["0", "1001", "-1", "1.5", "", "a", "99999"]) {
        const { status, body } = await get(`${ui}/letters?preview=${wrong}`);
        assertEquals([status, body.detail], [
          400,
          "Cannot use this preview: it must be a whole number from 1 to 1000",
        ]);
      }
      assertEquals((await get(`${ui}/letters?Preview=5`)).status, 400);
      assertEquals((await get(`${ui}/letters?preview=1000`)).body.items[0].body.length, 30);
      const exported = await get(`${ui}/letters?preview=5`, { accept: "text/csv" });
      assertEquals(exported.status, 400);
    }),
);

for (const engine of everyEngine.filter(({ name }) => name.includes("sqlite"))) {
  Deno.test(`a preview of an existing table cuts cells of any type (${engine.name})`, async () => {
    const db = await engine.open();
    await runScript(
      db.driver,
      `CREATE TABLE old (k TEXT PRIMARY KEY, body TEXT, raw BLOB);
      INSERT INTO old VALUES ('a', 'nul' || char(0) || 'byte', 'a text of bytes');
      INSERT INTO old VALUES ('b', x'00010203040506070809', zeroblob(9));
      INSERT INTO old VALUES (NULL, 123456789012, 5);
      INSERT INTO old VALUES ('c', 'nul' || char(0), NULL);`,
    );
    const [old] = (await db.introspect()).tables;
    assert(old !== undefined);
    const app = await createApp({
      db,
      secret: "a secret for the tests only",
      runtime: systemRuntime(() => {}),
      adminUI: { authorize: () => true },
      resources: [resource(old, { id: "k", auth: { public: { read: true } } })],
    });
    const get = async (query: string) =>
      await (await app.fetch(new Request(`http://test${ui}/old?preview=6${query}`))).json();
    const { items } = await get("&orderBy=k");
    // Every read of node:sqlite ends a text at U+0000.
    const endsAtNul = engine.name === "node:sqlite";
    assertEquals(items, [
      endsAtNul
        ? { k: "a", body: "nul", raw: "a text", _cut: ["raw"] }
        : { k: "a", body: "nul\0by", raw: "a text", _cut: ["body", "raw"] },
      { k: "b", body: "AAECAwQF", raw: "x'000000000000'", _cut: ["body", "raw"] },
      { k: "c", body: endsAtNul ? "nul" : "nul\0", raw: null },
      { k: null, body: "123456", raw: 5, _cut: ["body"] },
    ]);
    const byBody = await get("&orderBy=-body&limit=1");
    assertEquals((await get(`&orderBy=-body&cursor=${byBody.nextCursor}`)).items.length, 3);
    await app.close();
    await db.close();
  });
}
