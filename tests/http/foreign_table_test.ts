import { assertEquals, assertMatch } from "@std/assert";
import {
  all,
  type App,
  createApp,
  type Database,
  resource,
  type ResourceOptions,
  rsql,
} from "../../mod.ts";
import { sql } from "../../exports/sql.ts";
import type { TableInfo } from "../../exports/schema.ts";
import { equalOperator } from "../../src/filter/operators/operator_registry.ts";
import { systemRuntime } from "../../src/runtime/system_runtime.ts";
import { toStatement } from "../../src/sql/fragment.ts";
import { type Engine, engines } from "../support/engines.ts";
import { testOnEngines } from "../support/http.ts";
import { run, runScript } from "../support/scratch.ts";
import { testUnless } from "../support/skip.ts";

type Options = Omit<ResourceOptions<Record<string, unknown>>, "id">;

interface Foreign {
  readonly db: Database;
  readonly table: TableInfo;
  /** The status and the JSON of the answer to a request of `user`. */
  send(method: string, path: string, body?: unknown, user?: string): Promise<[number, Json]>;
}

// deno-lint-ignore no-explicit-any -- a test says what it expects by asserting it
type Json = any;

const open: Options = { auth: { public: true, create: () => all(), update: () => all() } };

/** Serves the only table of the script at `/api/<its name>`. */
async function withForeign(
  engine: Engine,
  script: string,
  options: Options,
  work: (foreign: Foreign) => Promise<void>,
): Promise<void> {
  const db = await engine.open();
  let app: App | null = null;
  try {
    await runScript(db.driver, script);
    const [table] = (await db.introspect()).tables;
    if (table === undefined) throw new Error("The table was not found");
    app = await createApp({
      db,
      secret: "a secret for the tests only",
      runtime: systemRuntime(() => {}),
      auth: {
        middleware: async (context, next) => {
          context.set("user", { id: context.req.header("x-user") ?? "ada" });
          await next();
        },
      },
      resources: [resource(table, { ...options, id: table.primaryKey.map(({ name }) => name) })],
    });
    const { fetch } = app;
    await work({
      db,
      table,
      send: async (method, path, body, user = "ada") => {
        const answer = await fetch(
          new Request(`http://test/api/${table.name}${path}`, {
            method,
            headers: { "content-type": "application/json", "x-user": user },
            body: body === undefined ? null : JSON.stringify(body),
          }),
        );
        return [answer.status, await answer.json()];
      },
    });
  } finally {
    await app?.close();
    await db.close();
  }
}

/** `?filter=` with the text encoded. */
function filtered(text: string): string {
  return `?filter=${encodeURIComponent(text)}`;
}

function ids(answer: [number, Json]): unknown[] {
  const [status, body] = answer;
  return status === 200 ? body.items.map(({ id }: { id: unknown }) => id) : [status, body.detail];
}

const sqlite = engines.filter(({ name }) => name === "better-sqlite3" || name === "node:sqlite");

// An existing table, whose defaults are expressions that only the database evaluates.
const jobs = {
  sqlite: `CREATE TABLE jobs (
    id INTEGER PRIMARY KEY,
    name VARCHAR(40) DEFAULT 'unnamed',
    token TEXT NOT NULL DEFAULT (lower('ABC') || '-1'),
    size INTEGER,
    doubled INTEGER GENERATED ALWAYS AS (size * 2) STORED)`,
  postgres: `CREATE TABLE jobs (
    id serial PRIMARY KEY,
    name varchar(40) DEFAULT 'unnamed',
    token text NOT NULL DEFAULT (lower('ABC') || '-1'),
    size int,
    doubled int GENERATED ALWAYS AS (size * 2) STORED)`,
};

testOnEngines(
  "an existing table's own defaults fill a new row, and are restored by PUT",
  (engine) =>
    withForeign(
      engine,
      engine.name.includes("sqlite") ? jobs.sqlite : jobs.postgres,
      open,
      async ({ send }) => {
        const fresh = { id: 1, name: "unnamed", token: "abc-1", size: null, doubled: null };
        assertEquals(await send("POST", "", {}), [201, fresh]);
        const set = { name: "copy", token: "t", size: 4 };
        assertEquals(await send("PATCH", "/1", set), [200, { id: 1, ...set, doubled: 8 }]);
        assertEquals(await send("PUT", "/1", { doubled: 9 }), [200, fresh]);
        const [, tooLong] = await send("PATCH", "/1", { name: "x".repeat(41) });
        assertMatch(tooLong.detail, /name/);
      },
    ),
);

for (const engine of sqlite) {
  Deno.test(`a column declared STRING has its numbers before its texts (${engine.name})`, () =>
    withForeign(
      engine,
      `CREATE TABLE words (id INTEGER PRIMARY KEY, word STRING);
      INSERT INTO words VALUES (1, '5x'), (2, '!'), (3, 7), (4, 'b'), (5, 'a')`,
      open,
      async ({ send }) => {
        assertEquals(ids(await send("GET", filtered("word=startswith=5"))), [1]);
        assertEquals(ids(await send("GET", filtered('word<"6x"'))), [1, 2, 3]);
        assertEquals(ids(await send("GET", filtered('word=="7"'))), [3]);
        const walked = [];
        let cursor = "";
        do {
          const [, page] = await send("GET", `?orderBy=word&limit=1${cursor}`);
          walked.push(...page.items.map(({ id }: { id: number }) => id));
          cursor = page.nextCursor === null ? "" : `&cursor=${page.nextCursor}`;
        } while (cursor !== "");
        assertEquals(walked, [3, 2, 1, 5, 4]);
      },
    ));

  Deno.test(`a large integer in a column of texts stopped the process (${engine.name})`, () =>
    withForeign(
      engine,
      `CREATE TABLE words (id INTEGER PRIMARY KEY, word STRING);
      INSERT INTO words VALUES (1, 9007199254740993), (2, 'É'), (3, 7)`,
      open,
      async ({ send }) => {
        assertEquals(ids(await send("GET", filtered('word=ieq="é"'))), [2]);
        assertEquals(ids(await send("GET", filtered('word=icontains="é"'))), [2]);
      },
    ));

  Deno.test(`PUT took a default that is a bare word for a column (${engine.name})`, () =>
    withForeign(
      engine,
      `CREATE TABLE words (
        id INTEGER PRIMARY KEY,
        secret TEXT DEFAULT 'hidden',
        bare TEXT DEFAULT secret,
        double TEXT DEFAULT "it's ""so""",
        bracket TEXT DEFAULT [a b],
        tick TEXT DEFAULT \`secret\`,
        keyword TEXT DEFAULT "true",
        truth TEXT DEFAULT TRUE,
        price TEXT DEFAULT 9.50,
        number INTEGER DEFAULT secret,
        remark TEXT DEFAULT (lower('X') -- and more
        ))`,
      {
        ...open,
        fields: {
          writable: [
            "bare",
            "double",
            "bracket",
            "tick",
            "keyword",
            "truth",
            "price",
            "number",
            "remark",
          ],
        },
      },
      async ({ send, db }) => {
        const fresh = {
          id: 1,
          secret: "hidden",
          bare: "secret",
          double: 'it\'s "so"',
          bracket: "a b",
          tick: "secret",
          keyword: "true",
          truth: "1",
          price: "9.5",
          number: "secret",
          remark: "x",
        };
        await run(db, "INSERT INTO words DEFAULT VALUES");
        assertEquals(await send("GET", "/1"), [200, fresh]);
        assertEquals(await send("POST", "", {}), [201, { ...fresh, id: 2 }]);
        assertEquals(await send("PUT", "/1", {}), [200, fresh]);
      },
    ));

  const moments: readonly (readonly [string, string])[] = [
    ["2024-01-01T00:00:00Z", "2024-01-02T00:00:00Z"],
    ["2024-01-01T00:00:00", "2024-01-02T00:00:00"],
    ["2024-01-01T00:00:00+00:00", "2024-01-02T00:00:00+00:00"],
    ["2024-01-01 00:00:00Z", "2024-01-02 00:00:00Z"],
    ["2024-01-01T00:00:00.000Z", "2024-01-02T00:00:00.000Z"],
    ["2024-01-01 00:00:00.000000", "2024-01-02 00:00:00.000000"],
  ];
  for (const [before, after] of moments) {
    Deno.test(`a moment kept as ${before} was never found again (${engine.name})`, () =>
      withForeign(
        engine,
        `CREATE TABLE events (id INTEGER PRIMARY KEY, at DATETIME);
         INSERT INTO events VALUES (1, '${before}'), (2, NULL);`,
        open,
        async ({ send, db }) => {
          const shown = "2024-01-01T00:00:00.000Z";
          assertEquals((await send("GET", "/1"))[1].at, shown);
          for (
            const test of [`at==${shown}`, `at<=${shown}`, `at=in=(${shown})`, "at>=2024-01-01"]
          ) {
            assertEquals(ids(await send("GET", filtered(test))), [1], test);
          }
          assertEquals(ids(await send("GET", filtered(`at>${shown}`))), []);
          await send("PATCH", "/1", { at: "2024-01-02T00:00:00Z" });
          const { rows } = await run(db, "SELECT at FROM events WHERE id = 1");
          assertEquals(rows, [[after]]);
        },
      ));
  }

  Deno.test(`a row could be created without a key (${engine.name})`, () =>
    withForeign(
      engine,
      `CREATE TABLE notes (id TEXT PRIMARY KEY, title TEXT);
       INSERT INTO notes VALUES (NULL, 'lost'), ('a', 'kept');`,
      open,
      async ({ send, table }) => {
        assertEquals(table.byName.get("id")?.notNull, false);
        for (const body of [{ id: null }, {}, { title: "x" }]) {
          const [status, problem] = await send("POST", "", body);
          assertEquals([status, problem.details.errors[0].path], [422, "id"]);
        }
        // An existing row without one is listed nevertheless, as the last one.
        const [, first] = await send("GET", "?limit=1");
        const [, second] = await send("GET", `?limit=1&cursor=${first.nextCursor}`);
        assertEquals([first.items[0].id, second.items[0].id, second.hasMore], ["a", null, false]);
      },
    ));
}

testUnless(
  engines.find(({ name }) => name === "postgres")?.ignore ?? null,
  "ALICE reached the rows of alice where the column's collation takes them for equal",
  () => {
    const engine = engines.find(({ name }) => name === "postgres");
    if (engine === undefined) throw new Error("There is no such engine");
    const scope = (user: { readonly id: string } | null) => rsql`owner==${user?.id}`;
    return withForeign(
      engine,
      `CREATE COLLATION loose (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
       CREATE DOMAIN person AS varchar(20) COLLATE loose;
       CREATE TABLE papers (
         id text COLLATE loose PRIMARY KEY, owner text COLLATE loose, reader person);
       INSERT INTO papers VALUES ('One', 'alice', 'alice'), ('two', 'ALICE', 'ALICE');`,
      { auth: { public: false, read: scope, update: scope } },
      async ({ send, db, table }) => {
        const listed = async (query: string) => ids(await send("GET", query, undefined, "ALICE"));
        assertEquals(await listed(""), ["two"]);
        for (
          const [filter, expected] of Object.entries({
            "id==two": ["two"],
            "id==TWO": [],
            "id!=TWO": ["two"],
            "id=in=(TWO,one)": [],
            "id=out=(TWO,one)": ["two"],
            "owner==alice": [],
            "reader==alice": [],
            "reader==ALICE": ["two"],
            "reader=out=(alice)": ["two"],
            "owner%=al%": [],
            "owner=startswith=al": [],
            "owner=contains=ALI": ["two"],
            "owner=ieq=alice": ["two"],
            "owner=length=5": ["two"],
            "owner=isempty=false": ["two"],
          })
        ) {
          assertEquals(await listed(filtered(filter)), expected, filter);
        }
        const status = async (path: string) => (await send("GET", path, undefined, "ALICE"))[0];
        assertEquals(await Promise.all(["/two", "/TWO", "/One"].map(status)), [200, 404, 404]);
        assertEquals((await send("PATCH", "/ONE", { id: "ONE" }, "alice"))[0], 404);
        assertEquals((await send("PATCH", "/One", { owner: "ALICE" }, "alice"))[0], 403);

        // Exact, and found by the index of the key, which has the column's collation.
        const [key] = table.primaryKey;
        if (key === undefined) throw new Error("The key was not found");
        const plan = await db.driver.transaction(async (connection) => {
          await connection.query({ text: "SET LOCAL enable_seqscan = off", values: [] });
          const test = equalOperator.toSql(key, ["two"], db.dialect);
          const query = sql`EXPLAIN SELECT 1 FROM papers WHERE ${test}`;
          return (await connection.query(toStatement(query, db.dialect.placeholder))).rows;
        });
        assertMatch(plan.join("\n"), /Index Cond/);
      },
    );
  },
);

testOnEngines("json and bytes are no order, and booleans are: false comes first", (engine) => {
  const isSqlite = engine.name.includes("sqlite");
  return withForeign(
    engine,
    `CREATE TABLE things (id INTEGER PRIMARY KEY, data ${isSqlite ? "JSON" : "json"},
       file ${isSqlite ? "BLOB" : "bytea"}, ok BOOLEAN);
     INSERT INTO things VALUES (1, '{}', NULL, true), (2, '[]', NULL, NULL), (3, '1', NULL, false),
       (4, '2', NULL, true);`,
    open,
    async ({ send }) => {
      for (const field of ["data", "file"]) {
        const [status, problem] = await send("GET", `?orderBy=${field}`);
        assertEquals([status, problem.title !== undefined], [400, true]);
        assertMatch(problem.detail, /not a sortable field/);
      }
      assertEquals(ids(await send("GET", "?orderBy=ok")), [3, 1, 4, 2]);
      const walked: unknown[] = [];
      let cursor = "";
      while (cursor !== null && walked.length < 9) {
        const [, page] = await send("GET", `?orderBy=-ok&limit=1&cursor=${cursor}`);
        walked.push(page.items[0].id);
        cursor = page.nextCursor;
      }
      assertEquals(walked, [1, 4, 3, 2]);
    },
  );
});

testOnEngines("a default that another program has changed applies to new rows", (engine) => {
  const script = (a: string, c: string) =>
    `CREATE TABLE df (id integer PRIMARY KEY, a text DEFAULT ${a}, c integer DEFAULT ${c},
    big bigint DEFAULT 9007199254740993);`;
  return withForeign(engine, script("'old'", "5"), open, async ({ db, send }) => {
    const [status, document] = await send("GET", "/../../__service/openapi.json");
    assertEquals([status, JSON.stringify(document).includes("9007199254740993 unless set")], [
      200,
      true,
    ]);
    assertEquals((await send("POST", "", { id: 1 }))[1].a, "old");
    const isSqlite = engine.name.includes("sqlite");
    const changed = isSqlite
      ? `DROP TABLE df;\n${script("'new'", "9")}\nINSERT INTO df (id) VALUES (1);`
      : "ALTER TABLE df ALTER a SET DEFAULT 'new', ALTER c SET DEFAULT 9;";
    await runScript(db.driver, changed);
    const [, created] = await send("POST", "", { id: 2 });
    const [, batch] = await send("POST", "/batch", { items: [{ id: 3 }, { id: 4 }] });
    // SQLite has no keyword for the default of a column in an UPDATE.
    const [, replaced] = isSqlite ? [0, created] : await send("PUT", "/1", {});
    assertEquals(
      [created, ...batch.items, replaced].map(({ a, c }: Json) => [a, c]),
      [["new", 9], ["new", 9], ["new", 9], ["new", 9]],
    );
  });
});
