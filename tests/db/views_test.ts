import { assertEquals, assertRejects } from "@std/assert";
import { all, type App, createApp, type Database, resource } from "../../mod.ts";
import type { TableInfo } from "../../exports/schema.ts";
import { parseSimpleView } from "../../src/db/views/simple_view.ts";
import { runTool } from "../../src/mcp/run_tool.ts";
import { ToolRefusal } from "../../src/mcp/tool_request.ts";
import { writeApiTypes } from "../../src/openapi/api_types.ts";
import { systemRuntime } from "../../src/runtime/system_runtime.ts";
import { everyEngine } from "../support/engines.ts";
import { runScript } from "../support/scratch.ts";
import { testUnless } from "../support/skip.ts";

const shared = `
CREATE TABLE item (id INTEGER PRIMARY KEY, name TEXT NOT NULL, price NUMERIC(6, 2), kind TEXT);
CREATE TABLE part (item_id INTEGER NOT NULL, place INTEGER NOT NULL, size REAL, PRIMARY KEY (item_id, place));
INSERT INTO item VALUES (1, 'one', 1.5, 'a'), (2, 'two', 2.25, 'a'), (3, 'three', NULL, 'b');
INSERT INTO part VALUES (1, 1, 0.5), (1, 2, 1.5), (2, 1, 2.5);
CREATE VIEW plain AS SELECT id, name, price * 2 AS twice FROM item WHERE price > (SELECT min(price) FROM item);
CREATE VIEW every AS SELECT * FROM item;
CREATE VIEW renamed AS SELECT name AS id, i.id AS "The Key" FROM item AS i ORDER BY name;
CREATE VIEW parts AS SELECT size, place, item_id FROM part;
CREATE VIEW of_view AS SELECT "The Key", id FROM renamed;
CREATE VIEW half AS SELECT item_id, size FROM part;
CREATE VIEW joined AS SELECT item.id, part.place FROM item JOIN part ON part.item_id = item.id;
CREATE VIEW comma AS SELECT item.id, part.place FROM item, part;
CREATE VIEW grouped AS SELECT kind, count(*) AS items, sum(price) AS total FROM item GROUP BY kind;
CREATE VIEW united AS SELECT id FROM item UNION ALL SELECT id FROM item;
CREATE VIEW once AS SELECT DISTINCT kind FROM item;
CREATE VIEW first AS SELECT id FROM item LIMIT 2;
CREATE VIEW casted AS SELECT CAST(id AS TEXT) AS id FROM item;
CREATE VIEW nested AS SELECT id FROM (SELECT id FROM item UNION ALL SELECT id FROM item) AS inner_items;
CREATE VIEW cte AS WITH c AS (SELECT id FROM item) SELECT id FROM c;
`;
const scripts = {
  sqlite: `${shared}
CREATE TABLE note (text TEXT);
CREATE VIEW notes AS SELECT rowid AS number, text FROM note;
CREATE VIEW all_notes AS SELECT * FROM note;
CREATE VIEW lost AS SELECT id FROM missing;
CREATE VIEW faulty AS SELECT id, json_extract('{', '$') AS fault FROM item;
CREATE VIEW listed (key, label) AS SELECT id, name FROM item;
CREATE VIEW called AS SELECT item.id FROM item, json_each('[1,2]')`,
  postgres: `${shared}
CREATE MATERIALIZED VIEW stored AS SELECT kind, count(*) AS items FROM item GROUP BY kind;
CREATE UNIQUE INDEX ON stored (kind);
CREATE MATERIALIZED VIEW stored_items AS SELECT id FROM item;
CREATE MATERIALIZED VIEW empty AS SELECT id FROM item WITH NO DATA;
CREATE TABLE bare ();
CREATE VIEW repeated AS SELECT id, unnest(ARRAY[1, 2]) AS n FROM item;
CREATE VIEW series AS SELECT n FROM generate_series(1, 3) AS n;
CREATE VIEW faulty AS SELECT id, 1 / (id - 1) AS fault FROM item`,
};

/** The inferred keys of the views that have one. */
const keys = {
  both: {
    every: ["id"],
    of_view: ["The Key"],
    parts: ["item_id", "place"],
    plain: ["id"],
    renamed: ["The Key"],
  },
  sqlite: { notes: ["number"] },
  postgres: { faulty: ["id"], stored: ["kind"], stored_items: ["id"] },
};

for (const engine of everyEngine) {
  testUnless(
    engine.ignore ?? null,
    `views of ${engine.name} have the key of their table, where it follows from their definition`,
    async () => {
      const db = await engine.open();
      try {
        await runScript(db.driver, scripts[db.dialect.engine]);
        await checkKeys(db);
        await checkDeclaredKeys(db);
        await checkRequests(db);
      } finally {
        await db.close();
      }
    },
  );
}

function namesOf({ primaryKey }: TableInfo): readonly string[] {
  return primaryKey.map(({ name }) => name);
}

async function checkKeys(db: Database): Promise<void> {
  const { engine } = db.dialect;
  const { tables, leftOut } = await db.introspect();
  const views = tables.filter(({ view }) => view !== null);
  const keyed = views.filter(({ primaryKey }) => primaryKey.length > 0);
  assertEquals(
    Object.fromEntries(keyed.map((view) => [view.name, namesOf(view)])),
    { ...keys.both, ...keys[engine] },
  );
  for (const view of keyed) {
    // Any number of rows of a stored view may have a NULL in its unique index.
    assertEquals([view.name, view.distinct], [view.name, view.name !== "stored"]);
  }
  assertEquals(
    views.filter(({ primaryKey }) => primaryKey.length === 0).map(({ name }) => name).sort(),
    [
      ...[
        "casted",
        "comma",
        "cte",
        "first",
        "grouped",
        "half",
        "joined",
        "nested",
        "once",
        "united",
      ],
      ...(engine === "sqlite" ? ["all_notes", "called", "listed"] : ["repeated", "series"]),
    ].sort(),
  );
  assertEquals(
    leftOut.map(({ table, reason }) => [table, reason.split(":")[0]]),
    engine === "sqlite" ? [["faulty", "it cannot be read"], ["lost", "it cannot be read"]] : [
      ["bare", "it has no columns"],
      ["empty", "it has no rows before REFRESH MATERIALIZED VIEW"],
    ],
  );
  const columns = tables.find(({ name }) => name === "grouped")?.columns ?? [];
  assertEquals(
    columns.map(({ name, kind, databaseType }) => `${name} ${databaseType?.shape.kind ?? kind}`),
    [
      "kind text",
      // No declared type says what an expression of SQLite gives.
      engine === "sqlite" ? "items any" : "items integer",
      engine === "sqlite" ? "total any" : "total decimal",
    ],
  );
}

async function checkDeclaredKeys(db: Database): Promise<void> {
  const { tables } = await db.introspect({
    keys: { grouped: ["kind"], joined: ["id", "place"], plain: ["id"] },
  });
  const found = (wanted: string) => tables.find(({ name }) => name === wanted);
  assertEquals(found("grouped")?.primaryKey.map(({ name }) => name), ["kind"]);
  assertEquals([found("grouped")?.distinct, found("plain")?.distinct], [false, true]);
  assertEquals(found("joined")?.primaryKey.length, 2);
  const faults: readonly (readonly [Record<string, readonly string[]>, string])[] = [
    [{ gruoped: ["kind"] }, 'there is no such view or table. Did you mean "grouped"?'],
    [{ grouped: ["knid"] }, 'it has no column "knid". Did you mean "kind"?'],
    [{ item: ["name"] }, "it has the key id"],
    [{ grouped: [] }, "name one column or more"],
    [{ grouped: ["kind", "kind"] }, "each once"],
  ];
  for (const [keys, message] of faults) {
    await assertRejects(() => db.introspect({ keys }), Error, message);
  }
}

async function checkRequests(db: Database): Promise<void> {
  const { tables } = await db.introspect({ keys: { united: ["id"] } });
  const right = () => all();
  const auth = { public: true, create: right, update: right, delete: right, subscribe: right };
  const app = await createApp({
    db,
    secret: "a secret for the tests only",
    runtime: { ...systemRuntime(() => {}), cron: undefined },
    resources: tables.map((table) => resource(table, { id: namesOf(table), auth, etag: {} })),
  });
  const send = async (method: string, path: string, body?: unknown) => {
    const answer = await app.fetch(
      new Request(`http://test/api/${path}`, {
        method,
        headers: { "content-type": "application/json" },
        body: body === undefined ? null : JSON.stringify(body),
      }),
    );
    const text = await answer.text();
    return { status: answer.status, body: text === "" ? null : JSON.parse(text), answer };
  };
  const get = async (path: string) => (await send("GET", path)).body;
  assertEquals(await get("plain/2?select=id,name"), { id: 2, name: "two" });
  const { answer } = await send("GET", "renamed/2");
  assertEquals(answer.headers.get("etag")?.startsWith('W/"'), true);
  assertEquals((await send("GET", "renamed/9")).status, 404);
  assertEquals((await get("parts/1,2")).size, 1.5);
  assertEquals((await get("grouped?orderBy=-kind&select=kind,items")).items, [
    { kind: "b", items: 1 },
    { kind: "a", items: 2 },
  ]);
  assertEquals(await get("grouped/count?filter=items=gt=1"), { count: 1 });
  const { groups } = await get("joined/aggregate?groupBy=id&count=true");
  assertEquals(groups, [{ key: { id: 1 }, count: 2 }, { key: { id: 2 }, count: 1 }]);
  // The key was declared, and is that of two rows: a list gives both, and a request by it one.
  assertEquals((await get("united?limit=2")).items, [{ id: 1 }, { id: 1 }]);
  assertEquals((await get("united")).items.length, 6);
  assertEquals(await get("united/1"), { id: 1 });
  for (const path of ["grouped/a", "grouped/subscribe", "plain/subscribe"]) {
    assertEquals([path, (await send("GET", path)).status], [path, 404]);
  }
  // Postgres itself can update a view of one table; writable_views_test.ts has the writes.
  const isWritable = db.dialect.engine === "postgres";
  const writes = { "POST plain": isWritable ? 401 : 405, "PATCH plain/2": isWritable ? 401 : 405 };
  for (const [write, status] of Object.entries({ ...writes, "POST grouped": 405 })) {
    const [method = "", path = ""] = write.split(" ");
    assertEquals([write, (await send(method, path, {})).status], [write, status]);
  }
  if (db.dialect.engine === "postgres") {
    assertEquals((await send("GET", "faulty")).status, 500);
    assertEquals((await send("GET", "faulty/2")).status, 200);
  }
  await checkDescriptions(app);
  await app.close();
}

/** What has no key has no path of a row, for any reader of the descriptions. */
async function checkDescriptions(app: App): Promise<void> {
  const document = JSON.stringify(app.openapi());
  assertEquals(["grouped", "plain"].map((name) => document.includes(`/api/${name}/{id}`)), [
    false,
    true,
  ]);
  const types = writeApiTypes(app.schema());
  assertEquals(/grouped: \{\s+path: "\/api\/grouped";\s+key: never;/.test(types), true, types);
  const tool = { path: "/grouped", key: [], isKeyless: true, fields: [], hasEtag: false };
  const context = {
    resources: new Map([["grouped", tool]]),
    indexBase: "/api",
    send: () => Promise.reject(new Error("nothing is to be sent")),
  };
  await assertRejects(
    () => runTool("query_rows", { resource: "grouped", id: "1" }, context),
    ToolRefusal,
    "Rows of this resource have no key",
  );
}

Deno.test("only a SELECT of one table's rows, each once, is a simple view", () => {
  for (
    const [text, expected] of [
      ["SELECT a FROM t", "t a"],
      [
        'CREATE TEMP VIEW IF NOT EXISTS main.v AS\n SELECT [a b], `c``d`, "e""f" FROM main.t -- x\n;',
        'main.t a b,c`d,e"f',
      ],
      ["SELECT x.*, x.a AS b, a + 1 FROM t x WHERE a IN (SELECT a FROM u GROUP BY a)", "t *,a,?"],
      ["SELECT /* FROM u, v */ a, 'FROM' FROM t", "t a,?"],
      ["SELECT a FROM t, u", null],
      ["SELECT a FROM t CROSS JOIN u", null],
      ["SELECT a FROM f(1)", null],
      ["SELECT a FROM (SELECT a FROM t) x", null],
      ["SELECT a FROM a.b.c.d", null],
      ["SELECT a FROM t x (b)", null],
      ["SELECT a FROM t TABLESAMPLE SYSTEM (1)", null],
      ["SELECT a", null],
      ["VALUES (1)", null],
      ["SELECT a FROM t WHERE (b", null],
      ["CREATE VIEW v (x) AS SELECT a FROM t", null],
    ] as const
  ) {
    const view = parseSimpleView(text);
    const shown = view &&
      `${[view.table.schema ?? [], view.table.name].flat().join(".")} ${
        view.columns.map((one) => one.kind === "column" ? one.name : one.kind === "all" ? "*" : "?")
      }`;
    assertEquals(shown, expected, text);
  }
});
