import { assert, assertEquals, assertRejects } from "@std/assert";
import { createClient, liveList, rsql } from "../../../exports/client.ts";
import { all, createApp, type Database, resource, type ResourceOptions } from "../../../mod.ts";
import { systemRuntime } from "../../../src/runtime/system_runtime.ts";
import { readDraft } from "../../../dashboard/row/draft.ts";
import { type Engine, engines } from "../../support/engines.ts";
import { run, runScript } from "../../support/scratch.ts";
import { testUnless } from "../../support/skip.ts";
import { fastEnvironment } from "../support/fast_environment.ts";
import { until } from "../support/until.ts";

/** A value of a column of any values, as a program has it. */
type Any = number | string | { readonly $number: string } | null;

interface Row {
  readonly id: number;
  readonly v: Any;
}

interface Api {
  t: {
    path: "/api/t";
    key: string | number;
    row: Row;
    create: Partial<Row>;
    update: Partial<Row>;
    relations: object;
    etag: false;
    procedures: object;
  };
}

interface World {
  readonly db: Database;
  readonly api: ReturnType<typeof clientOf>;
  /** Sends a body with safe numbers, or with plain ones; gives the status. */
  send(method: string, path: string, body: string, accept?: string): Promise<number>;
  /** The type and the text of an answer. */
  read(path: string, accept: string): Promise<readonly [type: string | undefined, text: string]>;
  /** The class and the digits of what is stored in `v` of a row. */
  stored(id: number): Promise<string>;
}

const safe = "application/json;numbers=safe";

/** Columns that SQLite fills with integers and other values. */
const declared = ["", "BLOB", "BIGINT", "INTEGER", "DECIMAL(20,2)", "NUMERIC", "ANY"];

function testOnSqlite(name: string, work: (engine: Engine) => Promise<void>): void {
  for (const engine of engines.filter((one) => one.name.includes("sqlite"))) {
    testUnless(engine.ignore ?? null, `${name} (${engine.name})`, () => work(engine));
  }
}

testOnSqlite("integers next to reals keep every digit, on every door", async (engine) => {
  for (const type of declared) {
    for (const other of ["2.5", "9e999"]) {
      await withValues(engine, type, ["9007199254740993", other], async (world) => {
        const { api, stored } = world;
        const label = `${type} next to ${other}`;
        const text = (value: unknown) => Object(value).$number ?? String(value).replace(".00", "");
        const [first] = (await api.t.list({ orderBy: ["id"] })).items;
        assertEquals(text(first?.v), "9007199254740993", label);
        const { groups } = await api.t.aggregate({ groupBy: ["v"], min: ["v"], orderBy: ["v"] });
        assertEquals(text(groups[0]?.key?.v ?? groups[1]?.key?.v).length > 0, true);
        const least = (await api.t.aggregate({ min: ["id"], max: ["v"], filter: "id==1" })).groups;
        assertEquals(text(least[0]?.max?.v), "9007199254740993", label);
        for (const filter of ["v==9007199254740993", rsql`v==${9007199254740993n}`]) {
          const { items } = await api.t.list({ filter });
          assertEquals(items.map(({ id }) => id), [1], label);
        }
        assertEquals((await api.t.list({ filter: "v==9007199254740992" })).items, []);
        for (
          const [id, digits] of [[5, "9007199254740995"], [6, "-9223372036854775808"]] as const
        ) {
          // Columns with a scale show and take strings.
          const isDecimal = typeof first?.v === "string";
          if (isDecimal) continue;
          await api.t.create({ id, v: { $number: digits } });
          assertEquals(await stored(id), `integer ${digits}`, label);
        }
      });
    }
  }
});

testOnSqlite(
  "a string of digits is the integer in a column whose affinity makes it one",
  async (engine) => {
    for (const type of ["BIGINT", "INTEGER"]) {
      await withValues(engine, type, ["9007199254740993", "2.5"], async ({ api, stored }) => {
        for (const digits of ["9007199254740995", "9223372036854775807", "-9223372036854775808"]) {
          await api.t.update(2, { v: digits });
          assertEquals(await stored(2), `integer ${digits}`);
          assertEquals((await api.t.list({ filter: rsql`v==${digits}` })).items.length, 1);
        }
      });
    }
  },
);

testOnSqlite(
  "a column of any values takes no number that may be rounded, and stores the rest exactly",
  async (engine) => {
    for (const type of ["", "BLOB"]) {
      await withValues(engine, type, ["1"], async ({ send, stored }) => {
        for (const bare of ["9007199254740995", "9007199254740992", "-9007199254740993", "1e300"]) {
          assertEquals(await send("PATCH", "/api/t/1", `{"v":${bare}}`), 422, bare);
          assertEquals(await stored(1), "integer 1");
        }
        const marked = {
          "9007199254740992": "integer 9007199254740992",
          "9007199254740995": "integer 9007199254740995",
          "-9223372036854775808": "integer -9223372036854775808",
          "9007199254740992.0": "real 9007199254740992.0",
          "1e300": "real 1.0e+300",
          "5": "integer 5",
        };
        for (const [digits, kept] of Object.entries(marked)) {
          assertEquals(await send("PATCH", "/api/t/1", `{"v":{"$number":"${digits}"}}`), 200);
          assertEquals(await stored(1), kept);
        }
        assertEquals(await send("PATCH", "/api/t/1", '{"v":9007199254740995}', "*/*"), 200);
        assertEquals(await stored(1), "integer 9007199254740995");
        assertEquals(await send("PATCH", "/api/t/1", '{"v":{"$number":"1e400"}}'), 422);
      });
    }
  },
);

testOnSqlite("what is read of any values is written back as it is stored", async (engine) => {
  const values = [
    ...["9007199254740993", "'9007199254740993'", "9007199254740992", "9007199254740992.0"],
    ...["1e300", "'5'", "5", "5.0", "-9223372036854775808", "9e999", "'a'", "x'00ff'", "NULL"],
  ];
  for (const type of ["", "BLOB", "BIGINT", "NUMERIC"]) {
    await withValues(engine, type, [...values, "2.5"], async ({ api, db, stored }) => {
      const before = await Promise.all(values.map((_, index) => stored(index + 1)));
      const { items } = await api.t.list({ orderBy: ["id"], limit: 100 });
      for (const [index, row] of items.entries()) {
        if (index === values.length) break;
        await api.t.update(row.id, { v: row.v });
        assertEquals(await stored(row.id), before[index], `${type} update ${values[index]}`);
        await api.t.replace(row.id, row);
        assertEquals(await stored(row.id), before[index], `${type} replace ${values[index]}`);
      }
      await run(db, "UPDATE t SET v = 1 WHERE id = 1");
      await api.t.update(1, { v: items[0]?.v ?? null });
      assertEquals(await stored(1), before[0]);
    });
  }
});

testOnSqlite(
  "a bare number is not taken for the integer beyond 2^53 that is stored",
  async (engine) => {
    for (const type of ["", "INTEGER", "BIGINT"]) {
      await withValues(engine, type, ["9007199254740992"], async ({ send, stored }) => {
        for (const method of ["PATCH", "PUT"]) {
          assertEquals(await send(method, "/api/t/1", '{"id":1,"v":9007199254740992}'), 422, type);
          assertEquals(await stored(1), "integer 9007199254740992");
        }
      });
    }
  },
);

testOnSqlite("a live list orders integers beyond 2^53 as a list does", async (engine) => {
  const values = [
    ...["9007199254740993", "9007199254740992", "9007199254740994", "1", "'a'", "2.5", "1e300"],
    ...["-9007199254740993", "-9007199254740992", "'9007199254740993'", "NULL", "5e15"],
  ];
  await withValues(engine, "", values, async ({ api, db }) => {
    for (const orderBy of [["v"], ["-v"]] as const) {
      const list = liveList(api.t, { orderBy: [...orderBy] });
      const close = list.subscribe(() => {});
      await until(list, ({ status }) => status === "live");
      await run(db, `INSERT INTO t (v) VALUES (${orderBy[0] === "v" ? "-" : ""}9007199254740995)`);
      const { items } = await api.t.list({ orderBy: [...orderBy], limit: 100 });
      const shown = await until(list, (state) => state.items.length === items.length);
      assertEquals(shown.items.map(({ id }) => id), items.map(({ id }) => id));
      close();
    }
  });
});

testOnSqlite("an export has the safe form that is asked for", async (engine) => {
  await withValues(engine, "", ["9007199254740993", "'9007199254740993'"], async ({ read }) => {
    assertEquals(await read("/api/t", "application/x-ndjson;numbers=safe"), [
      "application/x-ndjson",
      '{"id":1,"v":{"$number":"9007199254740993"}}\n{"id":2,"v":"9007199254740993"}\n',
    ]);
    assertEquals(await read("/api/t", "application/x-ndjson"), [
      "application/x-ndjson",
      '{"id":1,"v":9007199254740993}\n{"id":2,"v":"9007199254740993"}\n',
    ]);
    const csv = await read("/api/t", "text/csv;numbers=safe");
    assertEquals(csv[1], "id,v\r\n1,9007199254740993\r\n2,9007199254740993\r\n");
  });
});

testOnSqlite("a value that does not fit a wide column is written back", async (engine) => {
  await withValues(engine, "BIGINT", ["9007199254740993"], async ({ api, db, stored }) => {
    await run(db, "INSERT INTO t (id, v) VALUES (2, 2.5), (3, 1e300)");
    for (const [id, shown] of [[2, "2.5"], [3, "1e+300"]] as const) {
      const row = await api.t.get(id);
      assertEquals(row.value.v, shown);
      const before = await stored(id);
      await api.t.update(id, { v: row.value.v });
      assertEquals(await stored(id), before);
    }
    await assertRejects(() => api.t.update(2, { v: "3.5" }), Error, "whole number");
  });
});

Deno.test("the dashboard sends the digits of an integer in a field of any values", () => {
  // The other facts say nothing about how a value is read.
  const field = { type: "any", wide: false } as unknown as Parameters<typeof readDraft>[1];
  const read = (text: string) => readDraft({ text, isNull: false }, field);
  assertEquals(read("9007199254740995"), { value: { $number: "9007199254740995" } });
  assertEquals(read("-9007199254740993"), { value: { $number: "-9007199254740993" } });
  assertEquals(read("1e400"), { value: { $number: "1e400" } });
  assertEquals(read("5"), { value: 5 });
  assertEquals(read('"9007199254740993"'), { value: "9007199254740993" });
});

const options: ResourceOptions<Record<string, unknown>> = {
  id: "id",
  auth: { public: true, create: all, update: all },
  capabilities: { enableSubscribe: true, enableExport: true },
};

/** Serves a table whose rows 1, 2, … have these values in a column of this type. */
async function withValues(
  engine: Engine,
  type: string,
  values: readonly string[],
  work: (world: World) => Promise<void>,
): Promise<void> {
  const db = await engine.open();
  await runScript(db.driver, `CREATE TABLE t (id INTEGER PRIMARY KEY, v ${type})`);
  for (const value of values) await run(db, `INSERT INTO t (v) VALUES (${value})`);
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
    resources: [resource(table, options)],
  });
  const fetch = (request: Request) => app.fetch(request);
  await work({
    db,
    api: clientOf(fetch),
    async send(method, path, body, accept = safe) {
      const headers = { accept, "content-type": "application/json" };
      const answer = await fetch(new Request(`http://test${path}`, { method, body, headers }));
      await answer.text();
      return answer.status;
    },
    async read(path, accept) {
      const answer = await fetch(new Request(`http://test${path}`, { headers: { accept } }));
      return [answer.headers.get("content-type")?.split(";")[0], await answer.text()];
    },
    async stored(id) {
      const { rows } = await run(
        db,
        `SELECT typeof(v), iif(typeof(v) = 'real', format('%!.17g', v), coalesce(CAST(v AS TEXT), hex(v))) FROM t WHERE id = ${id}`,
      );
      return `${rows[0]?.[0]} ${rows[0]?.[1]}`;
    },
  });
  await app.close();
}

function clientOf(fetch: (request: Request) => Promise<Response> | Response) {
  return createClient<Api>({
    baseUrl: "http://test",
    environment: fastEnvironment(20),
    fetch: async (request) => await fetch(request),
  });
}
