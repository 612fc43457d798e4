import { assert, assertEquals, assertRejects } from "@std/assert";
import { createClient, liveList, rsql } from "../../../exports/client.ts";
import { all, createApp, resource, type ResourceOptions } from "../../../mod.ts";
import { systemRuntime } from "../../../src/runtime/system_runtime.ts";
import { draftOf, readDraft } from "../../../dashboard/row/draft.ts";
import { engines } from "../../support/engines.ts";
import { run, runScript } from "../../support/scratch.ts";
import { testUnless } from "../../support/skip.ts";
import { fastEnvironment } from "../support/fast_environment.ts";
import { until } from "../support/until.ts";

type Id = string | number;

interface Rows<Row> {
  path: string;
  key: Id;
  row: Row;
  create: Partial<Row>;
  update: Partial<Row>;
  relations: object;
  etag: false;
  procedures: object;
}

interface Api {
  keyed: Rows<{ k: Id; v: string; ref: Id | null }> & { path: "/api/keyed" };
}

/** Keys in SQL, each beside one that looks the same. */
const keys = [
  ...["9007199254740993", "'9007199254740993'", "9007199254740992", "'9007199254740992'"],
  ...["5", "'5'", "-9223372036854775808", "'-9223372036854775808'", "2.5", "'2.5'", "1e300"],
  ...["'1e300'", "'1e+300'", "'a'", "'\"5\"'", "'\"a\"'", "'\"'", "'Infinity'", "' 5'", "'05'"],
];

const options: ResourceOptions<Record<string, unknown>> = {
  id: "k",
  auth: { public: true, create: all, update: all, delete: all },
  capabilities: { enableSubscribe: true },
};

const related = (type: "belongsTo" | "hasMany", foreignKey: string, references: string) => ({
  relations: { other: { type, resource: "keyed", foreignKey, references } },
});

/** How `ref` is known to have keys. */
const references = [
  { by: "a foreign key", sql: " REFERENCES keyed(k)", more: {} },
  { by: "a relation in code", sql: "", more: related("belongsTo", "ref", "k") },
  { by: "a relation of the other table", sql: "", more: related("hasMany", "ref", "k") },
];

const cases = engines.filter(({ name }) => name.includes("sqlite"))
  .flatMap((engine) => references.map((reference) => ({ engine, reference })));

for (const { engine, reference } of cases) {
  testUnless(
    engine.ignore ?? null,
    `the client reaches each row of a key of any values by what rows show, by ${reference.by} ` +
      `(${engine.name})`,
    async () => {
      const db = await engine.open();
      await runScript(
        db.driver,
        `CREATE TABLE keyed (k PRIMARY KEY NOT NULL, v TEXT, ref${reference.sql})`,
      );
      for (const key of keys) {
        await run(db, `INSERT INTO keyed VALUES (${key}, '${key.replaceAll("'", "''")}', ${key})`);
      }
      const [table] = (await db.introspect()).tables;
      assert(table);
      const app = await createApp({
        db,
        secret: "a secret for the tests only",
        runtime: { ...systemRuntime(() => {}), cron: undefined },
        auth: {
          middleware: async (context, next) => {
            context.set("user", { id: "ada" });
            await next();
          },
        },
        resources: [resource(table, { ...options, ...reference.more })],
      });
      const api = createClient<Api>({
        baseUrl: "http://test",
        environment: fastEnvironment(20),
        fetch: async (request) => await app.fetch(request),
      });
      const { items } = await api.keyed.list({ orderBy: ["k"], limit: 100 });
      assertEquals(new Set(items.map(({ k }) => String(k))).size, keys.length);
      const list = liveList(api.keyed, { orderBy: ["v"] });
      const close = list.subscribe(() => {});
      const shown = await until(list, ({ status }) => status === "live");
      assertEquals(shown.items.length, keys.length);
      for (const { k, v, ref } of items) {
        assertEquals(ref, k);
        assertEquals((await api.keyed.get(k)).value.v, v);
        assertEquals((await api.keyed.get(ref ?? "")).value.v, v);
        for (const filter of [rsql`k==${k}`, rsql`ref==${k}`, rsql`k=in=${[k]}`]) {
          assertEquals((await api.keyed.list({ filter })).items.map((row) => row.v), [v], v);
        }
        await api.keyed.update(k, { v: `${v} changed`, ref: k });
        const { rows } = await run(
          db,
          `SELECT count(*), sum(k IS ${v} AND ref IS ${v} AND typeof(k) = typeof(ref)) FROM keyed WHERE v LIKE '% changed'`,
        );
        assertEquals(rows[0]?.map(Number), [1, 1], v);
        await until(list, ({ items }) => items.some((row) => row.v.endsWith(" changed")));
        assertEquals(list.get().items.find((row) => row.v.endsWith(" changed"))?.k, k);
        await api.keyed.replace(k, { k, v, ref: k });
        await api.keyed.delete(k);
        await api.keyed.create({ k, v, ref: k });
        const kept = await run(
          db,
          `SELECT typeof(k) = typeof(${v}), k IS ${v}, ref IS k FROM keyed WHERE v = '${
            v.replaceAll("'", "''")
          }'`,
        );
        assertEquals(kept.rows.map((row) => row.map(Number)), [[1, 1, 1]], v);
      }
      await until(list, ({ items }) => items.every(({ v }) => !v.endsWith(" changed")));
      // A string that may mean the number or the string is refused.
      await assertRejects(() => api.keyed.create({ k: "7", v: "x" }), Error, "quotes");
      await assertRejects(() => api.keyed.update("a", { ref: "5" }), Error, "quotes");
      await assertRejects(() => api.keyed.list({ filter: rsql`k==${"5"}` }), Error, "quotes");
      // Without safe numbers a string in quotes is a string, as before.
      const plain = await app.fetch(new Request('http://test/api/keyed?filter=k=="5"&select=k'));
      assertEquals((await plain.json()).items, [{ k: "5" }]);
      close();
      await app.close();
    },
  );
}

Deno.test("the dashboard shows a key of any values as it is sent", () => {
  // The other facts say nothing about how a value is read.
  const field = { type: "any", wide: true } as unknown as Parameters<typeof readDraft>[1];
  for (const [value, text] of [[5, "5"], ['"5"', '"5"'], ["a", "a"]] as const) {
    assertEquals(draftOf(value, field).text, text);
    assertEquals(readDraft({ text, isNull: false }, field), { value });
  }
  assertEquals(draftOf("9007199254740993", field).text, "9007199254740993");
});
