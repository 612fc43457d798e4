import { assertEquals, assertStringIncludes } from "@std/assert";
import { chunksOf } from "../../src/plan/key.ts";
import { alteredDatabases, serveAltered, type Served } from "../support/altered_database.ts";
import { testUnless } from "../support/skip.ts";

type Request = readonly [method: string, path: string, body?: unknown];

/** A table that another program alters, and requests that are possible from then on. */
interface Alteration {
  readonly table: string;
  /** Statements of both engines, `#` stands for the table; SQLite has no other way than a new table. */
  readonly before?: readonly string[];
  readonly columns: string;
  readonly remade: string | null;
  readonly postgres: readonly string[];
  readonly requests: readonly (readonly [Request, expected: unknown])[];
}

// The table `related` refers to the one before it.
const alterations: readonly Alteration[] = [
  {
    table: "checked",
    columns: "state text CHECK (state IN ('a'))",
    remade: "state text CHECK (state IN ('a', 'b'))",
    postgres: [
      "ALTER TABLE # DROP CONSTRAINT checked_state_check",
      "ALTER TABLE # ADD CHECK (state IN ('a', 'b'))",
    ],
    requests: [
      [["POST", "#", { id: 1, state: "b" }], { id: 1, state: "b" }],
      [["GET", "#?filter=state==b&select=state"], [{ state: "b" }]],
    ],
  },
  {
    table: "related",
    columns: "checked_id integer",
    remade: "checked_id integer REFERENCES checked",
    postgres: ["ALTER TABLE # ADD FOREIGN KEY (checked_id) REFERENCES checked"],
    requests: [[["GET", "#?include=checked"], []], [["GET", "#?filter=checked.state==b"], []]],
  },
  {
    table: "longer",
    columns: "title varchar(3)",
    remade: "title varchar(9)",
    postgres: ["ALTER TABLE # ALTER title TYPE varchar(9)"],
    requests: [[["POST", "#", { id: 1, title: "longer" }], { id: 1, title: "longer" }]],
  },
  {
    table: "nullable",
    columns: "title text NOT NULL",
    remade: "title text",
    postgres: ["ALTER TABLE # ALTER title DROP NOT NULL"],
    requests: [[["POST", "#/batch", { items: [{ id: 1 }] }], [{ id: 1, title: null }]]],
  },
  {
    table: "defaulted",
    columns: "title text NOT NULL",
    remade: "title text NOT NULL DEFAULT 'x'",
    postgres: ["ALTER TABLE # ALTER title SET DEFAULT 'x'"],
    requests: [[["POST", "#", { id: 1 }], { id: 1, title: "x" }]],
  },
  {
    table: "numbers",
    columns: "n integer",
    remade: "n text",
    postgres: ["ALTER TABLE # ALTER n TYPE text"],
    requests: [[["POST", "#", { id: 1, n: "one" }], { id: 1, n: "one" }]],
  },
  {
    table: "filtered",
    columns: "title text",
    remade: "title text, more text",
    postgres: ["ALTER TABLE # ADD COLUMN more text"],
    requests: [[["GET", "#?filter=more==x"], []]],
  },
  {
    table: "selected",
    before: ["INSERT INTO # (id) VALUES (1)"],
    columns: "n integer, twice integer",
    remade: "n integer, twice integer, more text DEFAULT 'x'",
    postgres: ["ALTER TABLE # ADD COLUMN more text DEFAULT 'x'"],
    requests: [[["GET", "#?select=more"], [{ more: "x" }]]],
  },
  {
    table: "grouped",
    columns: "title text",
    remade: "title text, more text",
    postgres: ["ALTER TABLE # ADD COLUMN more text"],
    requests: [[["GET", "#/aggregate?groupBy=more&count=true"], []]],
  },
  {
    table: "written",
    columns: "title text",
    remade: "title text, more text",
    postgres: ["ALTER TABLE # ADD COLUMN more text"],
    requests: [[["POST", "#", { id: 1, more: "x" }], { id: 1, title: null, more: "x" }]],
  },
  {
    table: "renamed",
    columns: "title text",
    remade: "heading text",
    postgres: ["ALTER TABLE # RENAME title TO heading"],
    requests: [[["POST", "#", { id: 1, heading: "x" }], { id: 1, heading: "x" }]],
  },
  {
    table: "upserted",
    columns: "code text NOT NULL, n integer",
    remade: "code text NOT NULL UNIQUE, n integer",
    postgres: ["ALTER TABLE # ADD UNIQUE (code)"],
    requests: [[["POST", "#?on=code", { id: 1, code: "x" }], { id: 1, code: "x", n: null }]],
  },
  {
    table: "generated",
    columns: "n integer, twice integer GENERATED ALWAYS AS (n * 2) STORED",
    remade: "n integer, twice integer",
    postgres: ["ALTER TABLE # ALTER twice DROP EXPRESSION"],
    requests: [[["POST", "#", { id: 1, n: 1, twice: 5 }], { id: 1, n: 1, twice: 5 }]],
  },
  {
    table: "generated_batch",
    columns: "n integer, twice integer GENERATED ALWAYS AS (n * 2) STORED",
    remade: "n integer, twice integer",
    postgres: ["ALTER TABLE # ALTER twice DROP EXPRESSION"],
    requests: [[["POST", "#/batch", { items: [{ id: 1, twice: 5 }] }], [{
      id: 1,
      n: null,
      twice: 5,
    }]]],
  },
  {
    table: "generated_patch",
    before: ["INSERT INTO # (id, n) VALUES (1, 1)"],
    columns: "n integer, twice integer GENERATED ALWAYS AS (n * 2) STORED",
    remade: "n integer, twice integer",
    postgres: ["ALTER TABLE # ALTER twice DROP EXPRESSION"],
    requests: [
      [["PATCH", "#/batch", { filter: "n==1", patch: { twice: 5 } }], { count: 1 }],
      [["GET", "#?filter=id==1"], [{ id: 1, n: 1, twice: 5 }]],
    ],
  },
  {
    table: "identity",
    columns: "n integer GENERATED ALWAYS AS IDENTITY",
    remade: null,
    postgres: ["ALTER TABLE # ALTER n SET GENERATED BY DEFAULT"],
    requests: [[["POST", "#", { id: 1, n: 5 }], { id: 1, n: 5 }]],
  },
  {
    table: "domains",
    before: ["CREATE DOMAIN named AS text NOT NULL"],
    columns: "title named",
    remade: null,
    postgres: ["ALTER DOMAIN named DROP NOT NULL"],
    requests: [[["POST", "#", { id: 1 }], { id: 1, title: null }]],
  },
  {
    table: "composites",
    before: ["CREATE TYPE pair AS (a int)"],
    columns: "ab pair",
    remade: null,
    postgres: ["ALTER TYPE pair ADD ATTRIBUTE b int"],
    requests: [
      [["POST", "#", { id: 1, ab: { a: 1, b: 2 } }], { id: 1, ab: { a: 1, b: 2 } }],
    ],
  },
  {
    table: "labels",
    before: ["CREATE TYPE mood AS ENUM ('sad')"],
    columns: "feel mood, moods mood[]",
    remade: null,
    postgres: ["ALTER TYPE mood ADD VALUE 'glad'"],
    requests: [
      [["POST", "#", { id: 1, feel: "glad", moods: ["glad"] }], {
        id: 1,
        feel: "glad",
        moods: ["glad"],
      }],
      [["GET", "#/aggregate?filter=feel==glad&count=true"], [{ key: null, count: 1 }]],
    ],
  },
  {
    table: "label_renamed",
    before: ["CREATE TYPE mode AS ENUM ('on')"],
    columns: "mode mode",
    remade: null,
    postgres: ["INSERT INTO # VALUES (1, 'on')", "ALTER TYPE mode RENAME VALUE 'on' TO 'up'"],
    requests: [[["GET", "#?filter=mode==up"], [{ id: 1, mode: "up" }]]],
  },
];

/** Creates and alters the tables by statements that only one engine needs. */
function statementsOf({ table, before = [], columns, remade, postgres }: Alteration, name: string) {
  const create = `CREATE TABLE # (id integer PRIMARY KEY, ${columns})`;
  const [types, rows] = [/^CREATE/, /^INSERT/].map((start) =>
    before.filter((text) => start.test(text))
  );
  const named = (texts: readonly string[] = []) => texts.map((text) => text.replace("#", table));
  const alter = name === "postgres" ? postgres : [
    `CREATE TABLE made (id integer PRIMARY KEY, ${remade})`,
    // The columns of a row that are not generated.
    ...rows?.length === 0 ? [] : ["INSERT INTO made (id, n, twice) SELECT id, n, twice FROM #"],
    "DROP TABLE #",
    `ALTER TABLE made RENAME TO #`,
  ];
  return { create: named([...types ?? [], create, ...rows ?? []]), alter: named(alter) };
}

/** Each alteration opens all tables of a service again, so one with all tables takes the square. */
const tablesOfService = 5;

/** Asks for what is possible now; a write may be a 503 once. */
async function answered({ ask }: Served, [method, path, body]: Request): Promise<unknown> {
  let [status, answer] = await ask(method, path, body);
  if (status === 503 && method !== "GET") {
    assertEquals(answer.code, "SCHEMA_CHANGED");
    [status, answer] = await ask(method, path, body);
  }
  assertEquals(status - status % 100, 200, JSON.stringify(answer));
  return answer.items ?? answer.groups ?? answer;
}

for (const { name, open, missing } of alteredDatabases) {
  const possible = alterations.filter(({ remade }) => name === "postgres" || remade !== null);

  testUnless(
    missing,
    `${name}: no request is refused, and no value dropped, by what a table was`,
    async () => {
      for (const some of chunksOf(possible, tablesOfService)) {
        await using db = await open();
        const statements = some.map((alteration) => statementsOf(alteration, name));
        await db.run(...statements.flatMap(({ create }) => create));
        await using served = await serveAltered(db.place, "--write");
        for (const [index, { table, requests }] of some.entries()) {
          await db.run(...statements[index]?.alter ?? []);
          for (const [[method, path, body], expected] of requests) {
            const answer = await answered(served, [method, path.replace("#", table), body]);
            if (expected !== undefined) assertEquals(answer, expected, table);
          }
        }
      }
    },
  );

  testUnless(missing, `${name}: a row is found by a key of the new type at once`, async () => {
    await using db = await open();
    const [whole, word] = [
      "(id integer PRIMARY KEY, n integer)",
      "(id text PRIMARY KEY, n integer)",
    ];
    const tables = ["read", "changed", "replaced", "deleted"];
    await db.run(...tables.map((table) => `CREATE TABLE ${table} ${whole}`));
    await using served = await serveAltered(db.place, "--write");
    const ask = async (table: string, ...request: Request) => {
      await db.run(
        `DROP TABLE ${table}`,
        `CREATE TABLE ${table} ${word}`,
        `INSERT INTO ${table} VALUES ('abc', 1)`,
      );
      return await answered(served, request);
    };
    assertEquals(await ask("read", "GET", "read/abc"), { id: "abc", n: 1 });
    assertEquals(await ask("changed", "PATCH", "changed/abc", { n: 2 }), { id: "abc", n: 2 });
    const put = { id: "abc", n: 3 };
    assertEquals(await ask("replaced", "PUT", "replaced/abc", put), put);
    await ask("deleted", "GET", "deleted/abc");
    assertEquals((await served.ask("DELETE", "deleted/abc"))[0], 204);
  });

  testUnless(missing, `${name}: a filter by the new type is answered at once`, async () => {
    const given = { integer: "5", text: "tea", numeric: "2.5", boolean: "true" };
    const types = Object.entries(given);
    const pairs = types.flatMap(([from]) =>
      types.flatMap(([to, value]) => from === to ? [] : [{ from, to, value }])
    );
    const wrong: unknown[] = [];
    const nameOf = (index: number) => `altered${index}`;
    for (const some of chunksOf(pairs, tablesOfService)) {
      await using db = await open();
      await db.run(
        ...some.map(({ from }, index) =>
          `CREATE TABLE ${nameOf(index)} (id integer PRIMARY KEY, v ${from})`
        ),
      );
      await using served = await serveAltered(db.place, "--write");
      for (const [index, { from, to, value }] of some.entries()) {
        const table = nameOf(index);
        await served.ask("GET", `${table}?filter=v==${new Map(types).get(from)}`);
        await db.run(
          `DROP TABLE ${table}`,
          `CREATE TABLE ${table} (id integer PRIMARY KEY, v ${to})`,
          `INSERT INTO ${table} VALUES (1, '${value}')`,
        );
        const read = () => served.ask("GET", `${table}?filter=v==${value}`);
        let [status, { items }] = await read();
        // On a busy machine the new tables take longer to open than a request waits.
        if (status === 503) [status, { items }] = await read();
        if (status !== 200 || items?.length !== 1) wrong.push([from, to, status, items]);
      }
    }
    assertEquals(wrong, []);
  });

  testUnless(missing, `${name}: no request is refused while the new tables open`, async () => {
    await using db = await open();
    await db.run("CREATE TABLE numbers (id integer PRIMARY KEY, n integer, old integer)");
    await using served = await serveAltered(db.place, "--write");
    await db.run("DROP TABLE numbers", "CREATE TABLE numbers (id integer PRIMARY KEY, n text)");
    // A statement that fails starts a check, which is not the check of a refused request.
    const failing = served.ask("GET", "numbers");
    while (served.observed.length === 0) await new Promise((resolve) => setTimeout(resolve));
    await new Promise((resolve) => setTimeout(resolve, 10));
    const statuses: Promise<number>[] = [];
    let isDone = false;
    for (let id = 1; !isDone; id++) {
      statuses.push(
        served.ask("POST", "numbers", { id, n: "one" }).then(([status]) => {
          isDone ||= status === 201;
          return status;
        }),
      );
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    assertEquals((await failing)[0], 200);
    const found = new Set(await Promise.all(statuses));
    found.delete(503);
    assertEquals([...found], [201]);
  });

  testUnless(missing, `${name}: new tables, and tables that get a key, are there`, async () => {
    await using db = await open();
    await db.run(
      "CREATE TABLE notes (id integer PRIMARY KEY)",
      "CREATE VIEW pairs AS SELECT 1 AS a",
    );
    await using served = await serveAltered(db.place, "--write");
    assertEquals((await served.ask("GET", "fresh"))[0], 404);
    await db.run("CREATE TABLE fresh (id integer PRIMARY KEY)");
    assertEquals(await answered(served, ["GET", "fresh"]), []);
    await db.run("CREATE TABLE later (id integer PRIMARY KEY)");
    assertEquals(await answered(served, ["POST", "later", { id: 1 }]), { id: 1 });
    assertEquals((await served.ask("POST", "pairs", { a: 1 }))[0], 405);
    await db.run("DROP VIEW pairs", "CREATE TABLE pairs (a integer PRIMARY KEY)");
    assertEquals(await answered(served, ["POST", "pairs", { a: 1 }]), { a: 1 });
    assertEquals((await served.ask("GET", "notes/1"))[0], 404);
  });

  testUnless(
    missing,
    `${name}: idempotency keys, streams and descriptions follow an altered table`,
    async () => {
      await using db = await open();
      await db.run("CREATE TABLE notes (id integer PRIMARY KEY)");
      await using served = await serveAltered(db.place, "--write");
      const add = (column: string) => db.run(`ALTER TABLE notes ADD COLUMN ${column} text`);
      await add("second");
      const other = `{"id":2,"second":"x"}`;
      for (const expected of [503, 201, 201]) {
        const headers = { "idempotency-key": "key-1" };
        const response = await served.send("api/notes", { method: "POST", headers, body: other });
        assertEquals(response.status, expected, await response.text());
      }
      await add("third");
      const stream = await served.follow("notes/subscribe?filter=third=isnull=true");
      const [page] = await stream.untilSynced();
      assertEquals(page?.data.items.length, 1);
      await stream.close();
      for (const path of ["__service/schema", "__service/openapi.json", "api/"]) {
        const column = `added_${path.replaceAll(/\W/g, "_")}`;
        await add(column);
        assertStringIncludes(await (await served.send(path)).text(), column);
      }
    },
  );
}
