import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import {
  createClient,
  createOutbox,
  liveAggregate,
  liveList,
  rsql,
} from "../../../exports/client.ts";
import { createApp, resource } from "../../../mod.ts";
import { openDatabase } from "../../../src/engines/open_database.ts";
import { systemRuntime } from "../../../src/runtime/system_runtime.ts";
import { engineOfEachDialect } from "../../support/engines.ts";
import { testOnDialects } from "../../support/http.ts";
import { run, runScript } from "../../support/scratch.ts";
import { until } from "../support/until.ts";
import { type Api, marked, wholeNumbers as numbers, withSnow } from "./snow_service.ts";

const documents = [
  '{"big":9007199254740993,"name":"a"}',
  '{"small":0.1234567890123456789,"name":"a"}',
  '{"name":"a","list":[1,[750727362669608961]],"huge":1e400}',
  '{"name":"a","mark":{"$number":"12"},"twice":{"$number":{"$number":"x"}}}',
  '{"name":"a","sum":{"$number":9007199254740993},"text":"9007199254740993"}',
] as const;

testOnDialects(
  "a number that JavaScript has rounded is refused",
  (engine) =>
    withSnow(engine, async ({ api, text, send }) => {
      const rounded = Number("9007199254740993");
      await assertRejects(() => api.snow.get(rounded), TypeError, "string");
      await assertRejects(() => api.snow.update(-rounded, { v: "x" }), TypeError, "string");
      assertThrows(() => rsql`id==${rounded}`, TypeError, "string");
      assertThrows(() => rsql`id=in=${[1, rounded]}`, TypeError, "string");
      await assertRejects(() => api.snow.create({ id: rounded + 16 }), Error, "string of digits");
      await assertRejects(
        () => api.snow.update("7", { ref: rounded as unknown as string }),
        Error,
        "string of digits",
      );
      await assertRejects(
        () => api.snow.update("7", { price: rounded as unknown as string }),
        Error,
        "string of digits",
      );
      // The literal of another program has all of its digits, and so has a smaller number.
      const half = 0.5 as unknown as string;
      assertEquals((await api.snow.update("7", { price: half })).value.price, "0.5000");
      const answer = await send("PATCH", "/api/snow/7", '{"price":1e10}');
      assertEquals((await answer.json()).price, "10000000000.0000");
      // A key that a double has for certain, as any number, may be given as one.
      assertEquals((await api.snow.get(7)).value.id, "7");
      assertEquals(await text("v", "1 = 1"), numbers.map(() => "v"));
    }),
);

testOnDialects(
  "a document keeps the numbers that no double has",
  (engine) =>
    withSnow(engine, async ({ db, app, api, text }) => {
      const outbox = createOutbox(api, { identity: "ada" });
      const list = liveList(api.snow, { filter: rsql`id==7` });
      const close = list.subscribe(() => {});
      await until(list, ({ status }) => status === "live");
      const cast = engine.name.includes("sqlite") ? "" : "::jsonb";
      for (const document of documents) {
        await run(db, `UPDATE snow SET doc = '${document}'${cast} WHERE id = 7`);
        const plain = async () => {
          const answer = await app.fetch(new Request("http://test/api/snow/7?select=doc"));
          return { doc: marked(await answer.text()).doc };
        };
        const before = await plain();
        const { value: { doc } } = await api.snow.get("7");
        await api.snow.update("7", { doc: { ...Object(doc), name: "b" } });
        assertEquals(await plain(), { doc: { ...before.doc, name: "b" } }, document);
        const shown = await until(list, ({ items }) => Object(items[0]?.doc).name === "b");
        const seen = shown.items[0]?.doc;
        await outbox.update(api.snow, "7", { doc: { ...Object(seen), name: "c" } }).done;
        assertEquals(await plain(), { doc: { ...before.doc, name: "c" } }, document);
      }
      assertEquals((await text("doc", "id = 7")).length, 1);
      outbox.close();
      close();
    }),
);

testOnDialects(
  "live lists, live aggregates and the outbox show the row that is meant",
  (engine) =>
    withSnow(engine, async ({ db, api, text }) => {
      await run(db, "UPDATE snow SET ref = id");
      const list = liveList(api.snow, { orderBy: ["-ref"], select: ["v", "ref"] });
      const whole = liveList(api.snow, { orderBy: ["id"] });
      const sums = liveAggregate(api.snow, { groupBy: ["ref"], max: ["id"] });
      const closes = [list, whole, sums].map((store) => store.subscribe(() => {}));
      const first = await until(list, ({ status }) => status === "live");
      assertEquals(first.items.map(({ ref }) => ref), [...numbers].reverse());
      const { items } = await until(whole, ({ status }) => status === "live");
      assertEquals(items.map(({ id }) => id), [...numbers]);
      const groups = await until(sums, ({ groups }) => groups.length === numbers.length);
      assertEquals(
        groups.groups.map((group) => JSON.stringify(group)).sort(),
        numbers.map((id) => JSON.stringify({ key: { ref: id }, max: { id } })).sort(),
      );
      const outbox = createOutbox(api, { identity: "ada" });
      for (const id of numbers) {
        const write = outbox.update(api.snow, id, { v: `o${id}` });
        const shown = whole.get().items.filter(({ v }) => v?.startsWith("o"));
        assertEquals(shown.at(numbers.indexOf(id))?.id, id);
        await write.done;
      }
      await until(
        whole,
        ({ items, pending }) =>
          pending === 0 && items.every(({ v }) => v?.startsWith("o") ?? false),
      );
      assertEquals(
        whole.get().items.map(({ id, v }) => [id, v]),
        numbers.map((id) => [id, `o${id}`]),
      );
      assertEquals(await text("v", "1 = 1"), numbers.map((id) => `o${id}`));
      await outbox.delete(api.snow, "9007199254740993").done;
      await until(list, ({ items }) => items.length === numbers.length - 1);
      assertEquals(
        list.get().items.map(({ ref }) => ref),
        numbers.filter((id) => id !== "9007199254740993").reverse(),
      );
      outbox.close();
      for (const close of closes) close();
    }),
);

for (const engine of engineOfEachDialect.filter(({ name }) => name.includes("sqlite"))) {
  Deno.test("a column of INTEGER never shows a number that is not stored", async () => {
    const db = await engine.open();
    await run(db, "CREATE TABLE snow (id INTEGER PRIMARY KEY, n INTEGER, any_value)");
    for (let id = 1; id <= 300; id++) await run(db, `INSERT INTO snow VALUES (${id}, ${id}, 1)`);
    const [table] = (await db.introspect()).tables;
    assert(table);
    await run(
      db,
      "UPDATE snow SET n = 9007199254740993, any_value = 9007199254740993 WHERE id = 2",
    );
    await run(db, "UPDATE snow SET n = 9007199254740992 WHERE id = 3");
    const app = await createApp({
      db,
      secret: "a secret for the tests only",
      runtime: { ...systemRuntime(() => {}), cron: undefined },
      auth: { middleware: (_context, next) => next() },
      resources: [resource(table, { id: ["id"], auth: { public: { read: true } } })],
    });
    const api = createClient<{ snow: Api["snow"] & { row: { id: number; n: unknown } } }>({
      baseUrl: "http://test",
      fetch: (request) => app.fetch(request),
    });
    const { items } = await api.snow.list({ filter: "id<5" });
    assertEquals(
      items.map(({ id, n }) => [id, n] as const),
      // deno-lint-ignore no-explicit-any -- the types say a number, and the table breaks them
      [[1, 1], [2, "9007199254740993"], [3, "9007199254740992"], [4, 4]] as any,
    );
    await run(db, "INSERT INTO snow VALUES (9007199254740993, 1, 1)");
    const [again] = (await db.introspect()).tables;
    assertEquals(again?.columns.map(({ isWide }) => isWide), [true, true, false]);
    await app.close();
  });
}

testOnDialects(
  "a body of a wide column is described as a number or a string",
  (engine) =>
    withSnow(engine, async ({ send }) => {
      const document = await (await send("GET", "/__service/openapi.json")).json();
      const { schema } = document.paths["/api/snow"].post.requestBody.content["application/json"];
      const text = JSON.stringify(schema.properties ?? document.components.schemas);
      assertEquals(
        text.includes(
          '"ref":{"oneOf":[{"type":"integer","format":"int64","nullable":true},' +
            '{"type":"string","pattern":"^-?[0-9]{1,18}$"}]}',
        ),
        true,
        text.slice(0, 2000),
      );
    }),
);

Deno.test("a column that references a wide one is wide, along any number of foreign keys", async () => {
  const db = await openDatabase("sqlite::memory:");
  await runScript(
    db.driver,
    `CREATE TABLE leaves (id INTEGER PRIMARY KEY, twig INTEGER REFERENCES Twigs(ID), n INTEGER);
    CREATE TABLE twigs (id INTEGER PRIMARY KEY REFERENCES snow);
    CREATE TABLE snow (id BIGINT PRIMARY KEY, a INTEGER, b INTEGER,
      FOREIGN KEY (a, b) REFERENCES pairs(a, b));
    CREATE TABLE pairs (a INTEGER, b BIGINT, PRIMARY KEY (a, b));`,
  );
  const { tables } = await db.introspect();
  const wide = tables.flatMap(({ name, columns }) =>
    columns.filter(({ isWide }) => isWide).map((column) => `${name}.${column.name}`)
  );
  assertEquals(wide.sort(), ["leaves.twig", "pairs.b", "snow.b", "snow.id", "twigs.id"]);
  await db.close();
});
