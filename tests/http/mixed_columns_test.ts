import { assertEquals } from "@std/assert";
import { all, resource } from "../../mod.ts";
import { type Engine, engines } from "../support/engines.ts";
import { type Service, withService } from "../support/http.ts";
import { run, runScript } from "../support/scratch.ts";
import { testUnless } from "../support/skip.ts";
import { asCsv } from "./export_support.ts";

function testOnSqlite(name: string, work: (engine: Engine) => Promise<void>): void {
  for (const engine of engines.filter((one) => one.name.includes("sqlite"))) {
    testUnless(engine.ignore ?? null, `${name} (${engine.name})`, () => work(engine));
  }
}

const ada = { "x-user": "ada" };

/** Declared types that say nothing certain, of three affinities, and none. */
const declared = ["", "STRING", "INTEGER_OR_TEXT", "ANY", "POINT", "YEAR"];
const values = [
  ...["1", "2", "5", "10", "12", "-3", "2.5", "1e3", "9007199254740993", "0"],
  ...["'n/a'", "'5'", "'05'", "'a'", "'A'", "' 7'", "''", "'!x'", "NULL", "x'6162'"],
];
const literals = ["5", '"5"', "05", "2.5", "10", "n/a", '"n/a"', '""', "9007199254740993", '"!x"'];
const operators = { "==": "=", "!=": "<>", ">": ">", ">=": ">=", "<": "<", "<=": "<=" };

/** The literal of SQL that is meant: what looks like a number is one. */
function sqlOf(literal: string): string {
  if (literal.startsWith('"')) return `'${literal.slice(1, -1)}'`;
  return /^[\d.]+$/.test(literal) ? literal : `'${literal}'`;
}

for (const strict of [false, true]) {
  testOnSqlite(
    `columns of numbers and strings${
      strict ? " of a STRICT table" : ""
    } compare as SQLite compares them`,
    (engine) =>
      withMixed(engine, async ({ get, db }) => {
        for (const index of declared.keys()) {
          const column = `v${index}`;
          const rowsOf = async (rest: string) =>
            (await run(db, `SELECT id FROM t ${rest}`)).rows.map(([id]) => Number(id));
          for (const literal of literals) {
            const sql = sqlOf(literal);
            for (const [operator, sign] of Object.entries(operators)) {
              const filter = `${column}${operator}${literal}`;
              const found = await listed(get, { filter });
              assertEquals(
                found,
                await rowsOf(`WHERE ${column} ${sign} ${sql} ORDER BY id`),
                `${declared[index]}: ${filter}`,
              );
            }
            const both = `${column}=in=(${literal},a);${column}=between=(${literal},"z")`;
            assertEquals(
              await listed(get, { filter: both }),
              await rowsOf(
                `WHERE ${column} IN (${sql}, 'a') AND ${column} BETWEEN ${sql} AND 'z' ORDER BY id`,
              ),
              both,
            );
          }
          for (const [orderBy, direction] of [[column, ""], [`-${column}`, "DESC"]] as const) {
            const order = `ORDER BY ${column} ${direction} NULLS LAST, id`;
            assertEquals(await listed(get, { orderBy, limit: "100" }), await rowsOf(order));
            assertEquals(await walked(get, orderBy), await rowsOf(order), declared[index]);
          }
          const { body: { groups: items } } = await get(
            `/api/t/aggregate?groupBy=${column}&count=true&orderBy=${column}&limit=100`,
          );
          const groups = await run(
            db,
            `SELECT count(*) FROM t GROUP BY ${column} ORDER BY ${column} NULLS LAST`,
          );
          const counts = items.map((item: { count: number }) => item.count);
          assertEquals(counts, groups.rows.map(([count]) => Number(count)));
          const extremes = await get(`/api/t/aggregate?min=${column}&max=${column}&sum=${column}`);
          const [group] = extremes.body.groups;
          assertEquals(group.min[column], -3);
          assertEquals(group.max[column], "x'6162'");
          assertEquals(
            await listed(get, { filter: `${column}=="5"` }, "seen"),
            await rowsOf(`WHERE ${column} = '5' ORDER BY id`),
          );
        }
      }, strict),
  );
}

testOnSqlite(
  "what a column of any values holds has one meaning in writes, keys and exports",
  (engine) =>
    withMixed(engine, async ({ get, send, db }) => {
      const stored = async (id: number) =>
        (await run(db, `SELECT typeof(v0), v0, typeof(v1) FROM t WHERE id = ${id}`)).rows[0];
      assertEquals((await send("PATCH", "/api/t/1", { v0: 7, v1: "7" }, ada)).body.v0, 7);
      assertEquals((await stored(1))?.map(String), ["integer", "7", "integer"]);
      assertEquals((await send("PATCH", "/api/t/1", { v0: "7", v1: "x" }, ada)).body.v0, "7");
      assertEquals((await stored(1))?.map(String), ["text", "7", "text"]);
      assertEquals((await send("PATCH", "/api/t/1", { v0: true }, ada)).status, 422);
      const csv = await get("/api/t?select=v0&orderBy=id&limit=3", asCsv);
      assertEquals(csv.body, "v0\r\n7\r\n2\r\n5\r\n");
      for (const [path, label] of [["1", "number"], ["%221%22", "text"], ["%22%22", "empty"]]) {
        assertEquals((await get(`/api/keyed/${path}`)).body.label, label);
      }
      const made = await send("POST", "/api/keyed", { k: "2", label: "new" }, ada);
      assertEquals(made.headers.get("location"), "/api/keyed/%222%22");
      assertEquals((await get("/api/keyed/2")).status, 404);
    }),
);

testOnSqlite(
  "a column of a STRICT table keeps a string of digits, and its row is found by it alone",
  (engine) =>
    withMixed(engine, async ({ get, send, db }) => {
      for (const value of ["7", "9007199254740995", "1e3", " 12", "007", "1.50", 7, 2.5]) {
        assertEquals((await send("PATCH", "/api/t/1", { v1: value }, ada)).body.v1, value);
        const { rows } = await run(db, "SELECT typeof(v1), v1 FROM t WHERE id = 1");
        const type = typeof value === "string"
          ? "text"
          : Number.isInteger(value)
          ? "integer"
          : "real";
        assertEquals(rows[0]?.map(String), [type, String(value)]);
      }
      await send("PATCH", "/api/keyed/%221%22", { label: "changed" }, ada);
      assertEquals((await get("/api/keyed/1")).body.label, "number");
      assertEquals((await get("/api/keyed/%221%22")).body.label, "changed");
      const made = await send("POST", "/api/keyed", { k: "2", label: "new" }, ada);
      assertEquals(made.headers.get("location"), "/api/keyed/%222%22");
      assertEquals((await get("/api/keyed/2")).status, 404);
    }, true),
);

testOnSqlite(
  "an include finds the rows that a filter over the same relation finds",
  async (engine) => {
    const db = await engine.open();
    await runScript(
      db.driver,
      `CREATE TABLE p (id INTEGER PRIMARY KEY, c TEXT UNIQUE);
       CREATE TABLE c (id INTEGER PRIMARY KEY, r STRING REFERENCES p (c), u REFERENCES p (c));
       INSERT INTO p VALUES (1, '7'), (2, 'abc'), (3, '1.5'), (4, '9007199254740993');
       INSERT INTO c VALUES (1, '7', '7'), (2, 'abc', 7), (3, 1.5, '1.5'), (4, 9007199254740993, NULL);
       CREATE TABLE q (id INTEGER PRIMARY KEY, n NUMERIC UNIQUE);
       CREATE TABLE k (id INTEGER PRIMARY KEY, n NUMERIC REFERENCES q (n));
       INSERT INTO q VALUES (1, 7), (2, 'abc'), (3, ''), (4, '0x10');
       INSERT INTO k VALUES (1, 7), (2, 'abc'), (3, ''), (4, '0x10')`,
    );
    const { tables } = await db.introspect();
    const link = (name: string, target: string, own: string, other: string) =>
      [name, {
        type: "belongsTo",
        resource: target,
        foreignKey: own,
        references: other,
        filterable: true,
      }] as const;
    const relations: Record<string, Record<string, unknown>> = {
      c: Object.fromEntries([link("p", "p", "r", "c"), link("other", "p", "u", "c")]),
      k: Object.fromEntries([link("q", "q", "n", "n")]),
    };
    await withService({ ...engine, open: () => Promise.resolve(db) }, [], () => ({
      resources: tables.map((table) =>
        resource(table, {
          id: ["id"],
          auth: { public: { read: true } },
          // Their tables are those of the database, which the types do not know.
          relations: (relations[table.name] ?? {}) as never,
        })
      ),
    }), async ({ get }) => {
      for (
        const [table, relation, expected] of [
          ["c", "p", [1, 2, 3, 4]],
          ["c", "other", [1, null, 3, null]],
          ["k", "q", [1, 2, 3, 4]],
        ] as const
      ) {
        const { status, body } = await get(`/api/${table}?include=${relation}&orderBy=id`);
        assertEquals(status, 200, JSON.stringify(body));
        const found = body.items.map((item: Record<string, { id: number } | null>) =>
          item[relation]?.id ?? null
        );
        assertEquals(found, expected, relation);
        const filtered = await get(`/api/${table}?filter=${relation}.id>0&orderBy=id&select=id`);
        assertEquals(
          filtered.body.items.map(({ id }: { readonly id: number }) => id),
          expected.filter((id) => id !== null),
          relation,
        );
      }
    });
  },
);

testOnSqlite("a restart changes no comparison of a column without a type", async (engine) => {
  for (const inserted of [[], ["1"], ["'a'"], ["1", "2", "'x'"], ["x'00'"], ["1.5"]]) {
    const db = await engine.open();
    await runScript(db.driver, "CREATE TABLE t (id INTEGER PRIMARY KEY, v, w STRING)");
    for (const value of inserted) await run(db, `INSERT INTO t (v, w) VALUES (${value}, ${value})`);
    const { tables } = await db.introspect();
    assertEquals(
      tables[0]?.columns.slice(1).map(({ databaseType }) => databaseType?.shape.kind),
      ["any", "any"],
    );
    await db.close();
  }
});

for (const strict of [false, true]) {
  testOnSqlite(
    `a stream of a column of numbers and strings${
      strict ? " of a STRICT table" : ""
    } shows what a list shows`,
    (engine) =>
      withMixed(engine, async ({ send, subscribe }) => {
        // Nothing else keeps the process alive.
        const alive = setInterval(() => {}, 60_000);
        const stream = await subscribe("/api/t/subscribe?filter=v0>5;v2>=n&select=id,v0,v2");
        await stream.untilSynced();
        for (
          const [v0, v2] of [["!y", "n/b"], [4, "n/b"], ["", "n"], [6, "m"], [6, 9], ["z", "z"]]
        ) {
          await send("PATCH", "/api/t/1", { v0, v2 }, ada);
        }
        const events = await stream.take(4);
        assertEquals(events.map(({ type }) => type), ["added", "removed", "added", "removed"]);
        assertEquals((await stream.take(1))[0]?.data.item, { id: 1, v0: "z", v2: "z" });
        clearInterval(alive);
        await stream.close();
      }, strict),
  );
}

async function listed(
  get: Service["get"],
  query: Record<string, string>,
  resource = "t",
): Promise<readonly number[]> {
  const params = new URLSearchParams({ limit: "100", select: "id", orderBy: "id", ...query });
  const { status, body } = await get(`/api/${resource}?${params}`);
  assertEquals(status, 200, JSON.stringify([query, body]));
  return body.items.map(({ id }: { readonly id: number }) => id);
}

async function walked(get: Service["get"], orderBy: string): Promise<readonly number[]> {
  const ids: number[] = [];
  for (let cursor = "";;) {
    const { body } = await get(`/api/t?select=id&limit=3&orderBy=${orderBy}&cursor=${cursor}`);
    ids.push(...body.items.map(({ id }: { readonly id: number }) => id));
    if (body.nextCursor === null) return ids;
    cursor = body.nextCursor;
  }
}

async function withMixed(
  engine: Engine,
  work: (service: Service) => Promise<void>,
  strict = false,
): Promise<void> {
  const db = await engine.open();
  const columns = declared.map((type, index) => `v${index} ${strict ? "ANY" : type}`);
  const [any, kept] = strict ? ["ANY", "STRICT"] : ["", ""];
  await runScript(
    db.driver,
    `CREATE TABLE t (id INTEGER PRIMARY KEY, ${columns.join(", ")}) ${kept};
     CREATE VIEW seen AS SELECT * FROM t;
     CREATE TABLE keyed (k ${any} PRIMARY KEY NOT NULL, label TEXT) ${kept};
     INSERT INTO keyed VALUES (1, 'number'), ('1', 'text'), ('', 'empty')`,
  );
  for (const value of values) {
    await run(db, `INSERT INTO t VALUES (NULL, ${declared.map(() => value).join(", ")})`);
  }
  const { tables } = await db.introspect();
  await withService(
    { ...engine, open: () => Promise.resolve(db) },
    [],
    () => ({
      resources: tables.map((table) =>
        resource(table, {
          id: table.name === "seen" ? ["id"] : table.primaryKey.map(({ name }) => name),
          auth: {
            public: { read: true, subscribe: true },
            update: () => all(),
            create: () => all(),
          },
          capabilities: { enableExport: true },
        })
      ),
    }),
    work,
  );
}
