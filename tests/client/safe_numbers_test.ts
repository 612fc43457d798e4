import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import { createCollection } from "@tanstack/db";
import { createClient, createOutbox, liveAggregate, liveList, rsql } from "../../exports/client.ts";
import { liveCollectionOptions } from "../../src/client/bindings/tanstack_db.ts";
import { all, type App, createApp, procedure, resource } from "../../mod.ts";
import { systemRuntime } from "../../src/runtime/system_runtime.ts";
import type { Database } from "../../src/db/open_database.ts";
import { type Engine, engineOfEachDialect } from "../support/engines.ts";
import { testOnDialects } from "../support/http.ts";
import { run, runScript } from "../support/scratch.ts";
import { z } from "zod";
import { fastEnvironment } from "./support/fast_environment.ts";
import { until } from "./support/until.ts";

/** Each lies beside another one that is the same double, or at the end of the range. */
const numbers = [
  "-9223372036854775808",
  "-9007199254740993",
  "-9007199254740992",
  "-9007199254740991",
  "-1",
  "0",
  "7",
  "9007199254740991",
  "9007199254740992",
  "9007199254740993",
  "9007199254740994",
  "9223372036854775807",
] as const;

const documents = [
  '{"big":9007199254740993,"name":"a"}',
  '{"small":0.1234567890123456789,"name":"a"}',
  '{"name":"a","list":[1,[750727362669608961]],"huge":1e400}',
  '{"name":"a","mark":{"$number":"12"},"twice":{"$number":{"$number":"x"}}}',
  '{"name":"a","sum":{"$number":9007199254740993},"text":"9007199254740993"}',
] as const;

const script = {
  sqlite: `
    CREATE TABLE snow (id BIGINT PRIMARY KEY, v TEXT, ref BIGINT REFERENCES snow(id), doc JSON,
      price DECIMAL(30, 4), ratio REAL, pages INTEGER, rev INTEGER NOT NULL DEFAULT 1);`,
  postgres: `
    CREATE TABLE snow (id bigint PRIMARY KEY, v text, ref bigint REFERENCES snow(id), doc jsonb,
      price numeric(30, 4), ratio float8, pages int4, rev int4 NOT NULL DEFAULT 1);`,
};

type Row = {
  id: string;
  v: string | null;
  ref: string | null;
  doc: unknown;
  price: string | null;
  ratio: number | null;
  pages: number | null;
};

interface Api {
  snow: {
    path: "/api/snow";
    key: string | number;
    row: Row;
    create: Omit<Partial<Row>, "id"> & { id: string | number };
    update: Partial<Row>;
    relations: Record<never, never>;
    etag: true;
    procedures: {
      echo: { input: { id: string }; output: { id: string } };
    };
  };
}

interface World {
  readonly db: Database;
  readonly app: App;
  readonly api: ReturnType<typeof clientOf>;
  /** What the database says, by itself. */
  text(column: string, where: string): Promise<string[]>;
}

function clientOf(app: App) {
  return createClient<Api>({
    baseUrl: "http://test",
    environment: fastEnvironment(20),
    fetch: (request) => app.fetch(request),
  });
}

async function withSnow(engine: Engine, work: (world: World) => Promise<void>): Promise<void> {
  const db = await engine.open();
  let app: App | null = null;
  try {
    await runScript(db.driver, engine.name.includes("sqlite") ? script.sqlite : script.postgres);
    for (const number of numbers) {
      await run(db, `INSERT INTO snow (id, v, pages) VALUES (${number}, 'v${number}', 3)`);
      await run(db, `UPDATE snow SET ref = ${number} WHERE id = ${number}`);
    }
    const [table] = (await db.introspect()).tables;
    assert(table);
    const echo = procedure({
      input: z.object({ id: z.string() }),
      output: z.object({ id: z.union([z.bigint(), z.number()]) }),
      handler: (_context, { id }) => ({ id: BigInt(id) }),
    });
    const rights = { create: () => all(), update: () => all(), delete: () => all() };
    app = await createApp({
      db,
      secret: "a secret for the tests only",
      runtime: { ...systemRuntime(() => {}), cron: undefined },
      auth: {
        middleware: async (context, next) => {
          context.set("user", { id: "ada" });
          await next();
        },
      },
      resources: [
        resource(table, {
          id: ["id"],
          auth: { public: true, ...rights },
          etag: {},
          capabilities: { enableBatch: true },
          procedures: { echo },
        }),
      ],
    });
    const text = async (column: string, where: string) =>
      (await run(db, `SELECT CAST(${column} AS text) FROM snow WHERE ${where} ORDER BY id`)).rows
        .map(([cell]) => String(cell));
    await work({ db, app, api: clientOf(app), text });
  } finally {
    await app?.close();
    await db.close();
  }
}

testOnDialects(
  "every number is the one that is stored, at every door of the client",
  (engine) =>
    withSnow(engine, async ({ api, text }) => {
      const { items } = await api.snow.list({ orderBy: ["id"] });
      assertEquals(items.map(({ id }) => id), [...numbers]);
      assertEquals(items.map(({ ref }) => ref), [...numbers]);
      assertEquals(items.map(({ pages }) => pages), numbers.map(() => 3));
      for (const id of numbers) {
        const { value, etag } = await api.snow.get(id);
        assertEquals([value.id, value.v], [id, `v${id}`]);
        const changed = await api.snow.update(id, { v: `w${id}` }, { ifMatch: etag });
        assertEquals([changed.value.id, changed.value.v], [id, `w${id}`]);
        const filtered = await api.snow.list({ filter: rsql`id==${id}` });
        assertEquals(filtered.items.map(({ v }) => v), [`w${id}`]);
        const { groups } = await api.snow.aggregate({
          filter: rsql`id==${BigInt(id)}`,
          groupBy: ["ref"],
          sum: ["id"],
          min: ["id"],
          max: ["id"],
        });
        assertEquals(groups, [
          { key: { ref: id }, sum: { id }, min: { id }, max: { id } } as typeof groups[number],
        ]);
        assertEquals(await api.snow.rpc.echo({ id }), { id });
      }
      assertEquals(await text("v", "1 = 1"), numbers.map((id) => `w${id}`));
      const paged: string[] = [];
      for await (const row of api.snow.all({ limit: 1, orderBy: ["-ref"] })) paged.push(row.id);
      assertEquals(paged, [...numbers].reverse());
      await api.snow.delete("9007199254740993");
      assertEquals(await text("id", "id > 9007199254740991"), [
        "9007199254740992",
        "9007199254740994",
        "9223372036854775807",
      ]);
      const { value } = await api.snow.create({ id: "9007199254740993", ref: "9007199254740993" });
      assertEquals([value.id, value.ref], ["9007199254740993", "9007199254740993"]);
      const batch = await api.snow.createBatch([{ id: "1234567890123456789" }]);
      assertEquals(batch.map(({ id }) => id), ["1234567890123456789"]);
    }),
);

testOnDialects(
  "a number that JavaScript has rounded is refused",
  (engine) =>
    withSnow(engine, async ({ api, text }) => {
      const rounded = Number("9007199254740993");
      await assertRejects(() => api.snow.get(rounded), RangeError, "string");
      await assertRejects(() => api.snow.update(-rounded, { v: "x" }), RangeError, "string");
      assertThrows(() => rsql`id==${rounded}`, RangeError, "string");
      assertThrows(() => rsql`id=in=${[1, rounded]}`, RangeError, "string");
      await assertRejects(() => api.snow.create({ id: rounded + 16 }), Error, "string of digits");
      await assertRejects(
        () => api.snow.update("7", { ref: rounded as unknown as string }),
        Error,
        "string of digits",
      );
      // A key that a double has for certain, as any number, may be given as one.
      assertEquals((await api.snow.get(7)).value.id, "7");
      assertEquals(await text("v", "1 = 1"), numbers.map((id) => `v${id}`));
    }),
);

testOnDialects(
  "a document keeps the numbers that no double has",
  (engine) =>
    withSnow(engine, async ({ db, app, api, text }) => {
      const outbox = createOutbox(api);
      const list = liveList(api.snow, { filter: rsql`id==7` });
      const close = list.subscribe(() => {});
      await until(list, ({ status }) => status === "live");
      const cast = engine.name.includes("sqlite") ? "" : "::jsonb";
      for (const document of documents) {
        await run(db, `UPDATE snow SET doc = '${document}'${cast} WHERE id = 7`);
        const plain = async () => {
          const answer = await app.fetch(new Request("http://test/api/snow/7?select=doc"));
          return JSON.parse((await answer.text()).replace(/(?<=[:[ ])-?\d[\d.e+]*/g, '"# $&"'));
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
    withSnow(engine, async ({ api, text }) => {
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
      const outbox = createOutbox(api);
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

testOnDialects(
  "a collection of TanStack DB has every row by its own key",
  (engine) =>
    withSnow(engine, async ({ api, text }) => {
      const collection = createCollection({
        ...liveCollectionOptions(api.snow, { getKey: ({ id }) => id }),
        gcTime: 0,
      });
      await collection.preload();
      assertEquals([...collection.keys()].sort(), [...numbers].sort());
      const { isPersisted } = collection.update("9007199254740993", (row) => {
        row.v = "mine";
      });
      await isPersisted.promise;
      assertEquals(await text("id", "v = 'mine'"), ["9007199254740993"]);
      await collection.cleanup();
      await new Promise((resolve) => setTimeout(resolve, 20));
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
    assertEquals(again?.columns.map(({ isWide }) => isWide), [true, true, true]);
    await app.close();
  });
}
