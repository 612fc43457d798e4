import { assert, assertEquals } from "@std/assert";
import { createClient, createOutbox, liveList, rsql } from "../../../exports/client.ts";
import { all, type App, createApp, type Database, resource } from "../../../mod.ts";
import { systemRuntime } from "../../../src/runtime/system_runtime.ts";
import { engines } from "../../support/engines.ts";
import { run, runScript } from "../../support/scratch.ts";
import { testUnless } from "../../support/skip.ts";
import { fastEnvironment } from "../support/fast_environment.ts";
import { until } from "../support/until.ts";

/** Types of Postgres that have numbers in them, each with values that a double rounds. */
const columns: Readonly<Record<string, readonly [type: string, ...values: string[]]>> = {
  numerics: ["numeric[]", "{9007199254740993,1.50}", "{{1.10,NULL},{9007199254740993,2}}"],
  wholes: ["bigint[]", "{9007199254740993,1}", "[0:1]={5,9223372036854775807}"],
  doubles: ["float8[]", "{0.1,9007199254740992,1e308}", "{5e-324,NULL}"],
  singles: ["float4[]", "{0.1,16777216,3.4e38}", "{1e-45}"],
  amount: ["money", "$92233720368547758.07", "-$1,234.50"],
  oid_value: ["oid", "4294967295", "2147483648"],
  xid_value: ["xid8", "9007199254740993", "18446744073709551615"],
  whole_domain: ["whole", "9007199254740993", "-9223372036854775808"],
  inner_domain: ["inner_whole", "9007199254740993", "9223372036854775807"],
  price_domain: ["price", "9007199254740993.10", "1.50"],
  whole_range: ["int8range", "[9007199254740993,9007199254740995)", "[1,)"],
  number_range: ["numrange", "(9007199254740993.10,9007199254740995]", "empty"],
  multirange: ["int8multirange", "{[9007199254740993,9007199254740995),[9007199254740999,)}", "{}"],
  record: ["pair", '(9007199254740993,9007199254740993.10,"{""a"": 1e400}")', "(,1.50,)"],
  records: ["pair[]", '{"(9007199254740993,1.50,)",NULL}', "{}"],
  pairs: ["hstore", '"a"=>"9007199254740993","b"=>"1.50"', '"9007199254740993"=>NULL'],
  number: ["numeric", "9007199254740993.10", `1${"0".repeat(400)}`],
  doc: ["json", '{"a":1.50, "b":9007199254740993}', "[1e400]"],
  binary_doc: ["jsonb", '{"a":1.50, "$number":"3", "b":9007199254740993}', `[1e400]`],
  docs: ["jsonb[]", '{"{\\"a\\": 1.50}",9007199254740993}', "{1.50}"],
};

const names = Object.keys(columns);
const keys = ["9007199254740992", "9007199254740993"];

/** A row of the table, which has a column for each type. */
interface NumberRow {
  readonly id: string;
  readonly [column: string]: unknown;
}

interface Api {
  readonly num: {
    readonly path: "/api/num";
    readonly key: string;
    readonly row: NumberRow;
    readonly create: NumberRow;
    readonly update: Readonly<Record<string, unknown>>;
    readonly relations: Record<never, never>;
    readonly etag: true;
    readonly procedures: Record<never, never>;
  };
}

interface World {
  readonly db: Database;
  readonly app: App;
  readonly api: ReturnType<typeof createClient<Api>>;
  /** The rows as the client shows them. */
  readonly rows: readonly NumberRow[];
}

/** Doors by which a program writes the values that it has read. */
const doors: Readonly<Record<string, (world: World) => Promise<unknown>>> = {
  "an update of each column by the client": async ({ api, rows }) => {
    for (const row of rows) {
      for (const name of names) await api.num.update(row.id, { [name]: row[name] });
    }
  },
  "a replacement by the client": async ({ api, rows }) => {
    for (const { id, ...row } of rows) await api.num.replace(id, { ...row, v: "new" });
  },
  "an upsert by the client": ({ api, rows }) => api.num.upsertBatch(rows),
  "rows that the client creates again": async ({ api, rows }) => {
    for (const { id } of rows) await api.num.delete(id);
    await api.num.createBatch(rows);
  },
  "the outbox, by rows of a live list": async ({ api }) => {
    const list = liveList(api.num as never, { orderBy: ["id"] } as never);
    const close = list.subscribe(() => {});
    const { items } = await until(list, ({ status }) => status === "live");
    const outbox = createOutbox(api, { identity: "ada" });
    for (const { id, ...row } of items as readonly Record<string, unknown>[]) {
      await outbox.update(api.num as never, id as never, row as never).done;
    }
    outbox.close();
    close();
  },
  "calls in code": async ({ app }) => {
    const calls = app.asSystem().of("num");
    const { items } = await calls.list({ orderBy: "id" });
    for (const { id, ...row } of items) {
      await calls.update(id as bigint, { ...row, v: "code" });
      await calls.replace(id as bigint, row);
      await calls.delete(id as bigint);
      await calls.create({ id, ...row });
    }
  },
  ...Object.fromEntries(
    ["text/csv", "application/x-ndjson", "application/x-ndjson;numbers=safe"].map((type) =>
      [
        `an import of the export as ${type}`,
        async ({ db, app }) => {
          const url = "http://test/api/num?orderBy=id";
          const exported = await app.fetch(new Request(url, { headers: { accept: type } }));
          const body = await exported.text();
          await run(db, "DELETE FROM num");
          const answer = await app.fetch(
            new Request("http://test/api/num/import", {
              method: "POST",
              headers: { "content-type": exported.headers.get("content-type") ?? "" },
              body,
            }),
          );
          assertEquals([answer.status, await answer.text()], [200, '{"rows":2,"written":2}']);
        },
      ] as const
    ),
  ) satisfies Record<string, (world: World) => Promise<void>>,
};

for (const engine of engines.filter(({ name }) => name === "postgres")) {
  testUnless(
    engine.ignore ?? null,
    "numbers within types of Postgres are written as they were read, by every door",
    async () => {
      const db = await engine.open();
      await createTable(db);
      const app = await openApp(db);
      const api = createClient<Api>({
        baseUrl: "http://test",
        environment: fastEnvironment(20),
        fetch: (request) => app.fetch(request),
      });
      const stored = async (cast = "") =>
        (await run(
          db,
          `SELECT ${names.map((name) => `${name}${cast}::text AS ${name}`)} FROM num ORDER BY id`,
        )).rows;
      const before = await stored();
      const { items: rows } = await api.num.list({ orderBy: ["id"] });
      const wrong: string[] = [];
      for (const [name, write] of Object.entries(doors)) {
        await write({ db, app, api, rows }).catch((error) => wrong.push(`${name}: ${error}`));
        const after = await stored();
        for (const [index, row] of before.entries()) {
          for (const [at, cell] of row.entries()) {
            const found = after[index]?.[at];
            // A document that is written again may have another spelling of the same numbers.
            if (valueOf(names[at], cell) !== valueOf(names[at], found)) {
              wrong.push(`${name}: ${names[at]} was ${cell} and is ${found}`);
            }
          }
        }
        await run(db, "DELETE FROM num");
        await insertRows(db);
      }
      assertEquals(wrong, []);
      const rounded = 9007199254740993;
      for (
        const row of [
          { numerics: [rounded] },
          { numerics: [["1"], [rounded]] },
          { wholes: [rounded] },
          { record: { whole: null, price: rounded, doc: null } },
          { record: { whole: rounded, price: null, doc: null } },
          { records: [null, { whole: null, price: rounded, doc: null }] },
          { price_domain: rounded },
        ]
      ) {
        const update = api.num.update(keys[0]!, row);
        const status = await update.then(() => 200, (error) => error.status);
        assertEquals(status, 422, JSON.stringify(row));
      }
      const exact = await app.fetch(
        new Request(`http://test/api/num/${keys[0]}`, {
          method: "PATCH",
          headers: { "content-type": "application/json" },
          body:
            '{"numerics":[1e20,9007199254740993],"number":1e20,"price_domain":9007199254740993}',
        }),
      );
      const { numerics, number, price_domain } = await exact.json();
      const long = `1${"0".repeat(20)}`;
      assertEquals([exact.status, numerics], [200, [long, "9007199254740993"]]);
      assertEquals([number, price_domain], [long, "9007199254740993.00"]);
      await run(db, "DELETE FROM num");
      await insertRows(db);
      for (const row of rows) {
        for (const name of ["xid_value", "whole_domain", "price_domain", "amount", "whole_range"]) {
          const filter = `${name}${rsql`==${String(row[name])}`}`;
          const ids = (await api.num.list({ filter })).items.map(({ id }) => id);
          assertEquals(ids, [row.id], filter);
        }
      }
      await app.close();
      await db.close();
    },
  );
}

function valueOf(name = "", cell: unknown): string {
  const text = String(cell);
  return name.includes("doc") ? text.replace(/(\d\.\d*?)0+(?=\D)/g, "$1").replace(/\s/g, "") : text;
}

async function createTable(db: Database): Promise<void> {
  const types = Object.entries(columns).map(([name, [type]]) => `${name} ${type}`);
  await runScript(
    db.driver,
    `CREATE EXTENSION hstore;
    CREATE DOMAIN whole AS bigint;
    CREATE DOMAIN inner_whole AS whole CHECK (VALUE <> 0);
    CREATE DOMAIN price AS numeric(30, 2);
    CREATE TYPE pair AS (whole bigint, price numeric, doc jsonb);
    CREATE TABLE num (id bigint PRIMARY KEY, v text, ${types});`,
  );
  await insertRows(db);
}

async function insertRows(db: Database): Promise<void> {
  for (const [index, id] of keys.entries()) {
    const values = Object.values(columns).map(([type, ...values]) => `'${values[index]}'::${type}`);
    await run(db, `INSERT INTO num VALUES (${id}, 'v', ${values})`);
  }
}

async function openApp(db: Database): Promise<App> {
  const [table] = (await db.introspect()).tables;
  assert(table);
  const rights = { create: () => all(), update: () => all(), delete: () => all() };
  return await createApp({
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
        capabilities: { enableBatch: true, enableExport: true, enableImport: true },
      }),
    ],
  });
}
