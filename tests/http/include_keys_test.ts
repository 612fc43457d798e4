import { assertEquals, assertMatch } from "@std/assert";
import {
  all,
  bigint,
  createApp,
  type Database,
  date,
  decimal,
  integer,
  resource,
  type ResourceOptions,
  table,
  text,
  timestamp,
  uuid,
} from "../../mod.ts";
import { type Engine, engines } from "../support/engines.ts";
import { insertRows, testOnEngines, withService } from "../support/http.ts";
import { watchStatements } from "./include_support.ts";
import { run, runScript } from "../support/scratch.ts";
import { testUnless } from "../support/skip.ts";

const open = { public: { read: true } };

const owners = table("owners", {
  id: integer().primaryKey(),
  whole: integer(),
  big: bigint(),
  name: text(),
  code: uuid(),
  price: decimal({ precision: 12, scale: 2 }),
  at: timestamp(),
  day: date(),
});
const owned = table("owned", {
  id: integer().primaryKey(),
  whole: bigint(),
  big: integer(),
  name: text(),
  code: uuid(),
  price: decimal({ precision: 12, scale: 4 }),
  at: timestamp(),
  day: date(),
});
const keyColumns = ["whole", "big", "name", "code", "price", "at", "day"] as const;

testOnEngines(
  "keys of every kind lead to exactly their rows, to the last digit and quote",
  (engine) =>
    withService(engine, [owners, owned], () => ({
      resources: [
        resource(owners, {
          id: owners.id,
          auth: open,
          relations: Object.fromEntries(
            keyColumns.map((name) => [`by_${name}`, {
              type: "hasMany" as const,
              resource: owned,
              references: owners[name],
              foreignKey: owned[name],
              filterable: true,
            }]),
          ),
        }),
        resource(owned, { id: owned.id, auth: open }),
      ],
    }), async ({ db, get }) => {
      // Row n of the one belongs to row n of the other, and to no row with a similar key.
      const values = [
        [2n ** 53n, 2n ** 53n + 1n, -(2n ** 63n)],
        ["9007199254740993", "9007199254740992", "9223372036854775807"],
        [`it's "so" \\ [,]`, "ALICE", "alice"],
        [
          "550e8400-e29b-41d4-a716-446655440000",
          "550e8400-e29b-41d4-a716-446655440001",
          "00000000-0000-0000-0000-000000000000",
        ],
        ["12345678.01", "12345678.10", "0.10"],
        ["2024-01-01T00:00:00.123Z", "2024-01-01T00:00:00.124Z", "2023-12-31T23:59:59.999Z"],
        ["2024-01-01", "2024-02-29", "1969-12-31"],
      ];
      const rows = [0, 1, 2].map((at) => ({
        id: at + 1,
        ...Object.fromEntries(keyColumns.map((name, index) => [name, values[index]?.[at]])),
      }));
      const nulls = { id: 4, ...Object.fromEntries(keyColumns.map((name) => [name, null])) };
      await insertRows(db, owners, [...rows, nulls]);
      await insertRows(db, owned, [...rows, nulls]);
      const include = keyColumns.map((name) => `by_${name}(select:id)`).join();
      const { body } = await get(`/api/owners?include=${include}&select=id`);
      for (const [index, item] of body.items.entries()) {
        const expected = index === 3 ? [] : [{ id: index + 1 }];
        for (const name of keyColumns) {
          assertEquals([name, item[`by_${name}`]], [name, expected]);
        }
      }
      for (const name of keyColumns) {
        const { body } = await get(`/api/owners?filter=by_${name}.id==2&select=id`);
        assertEquals([name, body.items], [name, [{ id: 2 }]]);
      }
    }),
);

const books = table("books", {
  shelf: integer().primaryKey(),
  place: integer().primaryKey(),
  authorId: integer().as("author_id"),
});
const authors = table("authors", { id: integer().primaryKey(), shelf: integer() });

testOnEngines(
  "rows with a key of several columns are included, and include",
  (engine) =>
    withService(engine, [books, authors], () => ({
      resources: [
        resource(books, {
          id: [books.shelf, books.place],
          auth: open,
          relations: {
            author: { type: "belongsTo", resource: authors, foreignKey: books.authorId },
            keepers: {
              type: "hasMany",
              resource: authors,
              references: books.shelf,
              foreignKey: authors.shelf,
            },
          },
        }),
        resource(authors, {
          id: authors.id,
          auth: open,
          relations: { books: { type: "hasMany", resource: books, foreignKey: "authorId" } },
        }),
      ],
    }), async ({ db, get }) => {
      await insertRows(db, authors, [{ id: 1, shelf: 2 }, { id: 2, shelf: 2 }]);
      await insertRows(db, books, [
        { shelf: 1, place: 1, authorId: 1 },
        { shelf: 1, place: 2, authorId: 2 },
        { shelf: 2, place: 1, authorId: 1 },
      ]);
      const all = await get("/api/books?include=author(select:id),keepers(select:id)&select=place");
      assertEquals(all.body.items, [
        { place: 1, author: { id: 1 }, keepers: [] },
        { place: 2, author: { id: 2 }, keepers: [] },
        { place: 1, author: { id: 1 }, keepers: [{ id: 1 }, { id: 2 }] },
      ]);
      const one = await get("/api/authors/1?include=books(orderBy:-shelf)");
      assertEquals(one.body.books, [
        { shelf: 2, place: 1, authorId: 1 },
        { shelf: 1, place: 1, authorId: 1 },
      ]);
      assertEquals((await get("/api/books/2,1?include=keepers")).body.keepers.length, 2);
    }),
);

const parents = table("parents", { id: integer().primaryKey(), name: text().notNull() });
const children = table("children", {
  id: integer().primaryKey(),
  parentId: integer().as("parent_id"),
  rank: integer(),
  name: text().notNull(),
});

/** An app over a few parents with many children, with or without an index that leads to them. */
async function withFamily(
  engine: Engine,
  indexed: boolean,
  work: (
    get: (path: string) => Promise<{ status: number; body: Body }>,
    db: Database,
  ) => Promise<void>,
): Promise<void> {
  const db = await engine.open();
  await db.createTables([parents, children]);
  if (indexed) {
    await run(db, "CREATE INDEX children_by_parent ON children (parent_id)");
  }
  const app = await createApp({
    db,
    secret: "a secret for the tests only",
    resources: [
      resource(parents, {
        id: parents.id,
        auth: open,
        pagination: { maxLimit: 200 },
        relations: {
          children: { type: "hasMany", resource: children, foreignKey: children.parentId },
        },
      }),
      resource(children, {
        id: children.id,
        auth: { public: { read: true }, create: () => all() },
      }),
    ],
  });
  try {
    await work(async (path) => {
      const response = await app.fetch(new Request(`http://test/api/${path}`));
      return { status: response.status, body: await response.json() };
    }, db);
  } finally {
    await app.close();
  }
}

// deno-lint-ignore no-explicit-any -- a test says what it expects by asserting it
type Body = any;

for (const indexed of [false, true]) {
  testOnEngines(
    `include equals one query for each row, ${indexed ? "by an index" : "without an index"}`,
    (engine) =>
      withFamily(engine, indexed, async (get, db) => {
        await insertRows(
          db,
          parents,
          Array.from({ length: 12 }, (_, at) => ({ id: at, name: `p${at % 5}` })),
        );
        await insertRows(
          db,
          children,
          Array.from({ length: 300 }, (_, id) => ({
            id,
            parentId: id % 13 === 12 ? null : (id * id) % 12,
            rank: id % 7 === 0 ? null : (id * 31) % 11,
            name: `c${(id * 17) % 23}`,
          })),
        );
        for (const [order, direction] of [["rank", "ASC"], ["rank", "DESC"], ["name", "ASC"]]) {
          for (const limit of [1, 3, 100]) {
            const include = `children(select:id;orderBy:${order}:${direction?.toLowerCase()};` +
              `limit:${limit};filter:rank!=5,rank==null)`;
            const { body } = await get(`parents?include=${include}&orderBy=-name&limit=12`);
            for (const { id, children } of body.items) {
              const { rows } = await run(
                db,
                `SELECT id FROM children WHERE parent_id = ? AND (rank <> 5 OR rank IS NULL)
                 ORDER BY ${order} ${direction} NULLS LAST, id LIMIT ${limit}`,
                id,
              );
              const expected = rows.map(([id]) => Number(id));
              assertEquals(children.map(({ id }: { id: number }) => id), expected);
            }
          }
        }
      }),
  );

  testOnEngines(
    `more than 10,000 included rows are too many, ${indexed ? "by an index" : "without one"}`,
    (engine) =>
      withFamily(engine, indexed, async (get, db) => {
        const numbers = `WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i <`;
        await run(db, `INSERT INTO parents ${numbers} 100) SELECT i, 'x' FROM n`);
        await run(
          db,
          `INSERT INTO children ${numbers} 10099) SELECT i, i / 100, i, 'x' FROM n`,
        );
        const enough = await get("parents?limit=100&include=children(select:id)");
        assertEquals(enough.status, 200);
        assertEquals(enough.body.items.flatMap(({ children }: Body) => children).length, 10_000);
        const tooMany = await get("parents?limit=101&include=children(select:id)");
        assertEquals([tooMany.status, tooMany.body.code], [422, "QUERY_TOO_EXPENSIVE"]);
        assertMatch(tooMany.body.detail, /more than 10000/);
        const less = await get("parents?limit=101&include=children(select:id;limit:50)");
        assertEquals(less.status, 200);
      }),
  );
}

testOnEngines(
  "the first rows of a key with very many are found by index, not by row numbers",
  (engine) =>
    withFamily(engine, true, async (get, db) => {
      await insertRows(db, parents, [{ id: 1, name: "x" }]);
      await run(
        db,
        `INSERT INTO children WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n
       WHERE i < 20000) SELECT i, 1, i, 'x' FROM n`,
      );
      await run(db, "CREATE INDEX children_by_both ON children (parent_id, id)");
      await run(db, "ANALYZE");
      const statements = watchStatements(db);
      const { body } = await get("parents?include=children(limit:2)");
      assertEquals(body.items[0].children.map(({ id }: Body) => id), [1, 2]);
      const [, included] = statements.splice(0);
      if (included === undefined) throw new Error("Nothing was included");
      assertEquals(/PARTITION/.test(included.text), false);
      // This driver prefixes EXPLAIN to every statement itself, and the engine accepts it once.
      if (engine.name === "node:sqlite") return;
      const explain = db.dialect.engine === "sqlite" ? "EXPLAIN QUERY PLAN" : "EXPLAIN";
      const plan = await db.driver.query({ ...included, text: `${explain} ${included.text}` });
      assertMatch(
        plan.rows.flat().join("\n"),
        /INDEX children_by|Index (Only )?Scan using children/,
      );
    }),
);

const scripts = {
  sqlite:
    `CREATE TABLE people (id TEXT COLLATE NOCASE, kind INTEGER, PRIMARY KEY (id COLLATE BINARY));
CREATE TABLE papers (id INTEGER PRIMARY KEY, owner TEXT COLLATE NOCASE);
CREATE TABLE readers (id INTEGER PRIMARY KEY, paper INTEGER, person TEXT COLLATE NOCASE);`,
  postgres:
    `CREATE COLLATION loose (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
CREATE TABLE people (id text COLLATE loose, kind int, PRIMARY KEY (id, kind));
CREATE TABLE papers (id int PRIMARY KEY, owner text COLLATE loose);
CREATE TABLE readers (id int PRIMARY KEY, paper int, person text COLLATE loose);`,
};

for (const engine of engines.filter(({ name }) => name !== "pglite")) {
  testUnless(
    engine.ignore ?? null,
    `ALICE owned the papers of alice where they are equal under a collation (${engine.name})`,
    async () => {
      const db = await engine.open();
      await runScript(db.driver, scripts[db.dialect.engine]);
      await runScript(
        db.driver,
        `INSERT INTO people VALUES ('alice', 1);
${db.dialect.engine === "sqlite" ? "INSERT INTO people VALUES ('ALICE', 2);" : ""}
INSERT INTO papers VALUES (1, 'alice'), (2, 'ALICE');
INSERT INTO readers VALUES (1, 1, 'alice'), (2, 1, 'ALICE'), (3, 2, 'alice');`,
      );
      const { tables } = await db.introspect();
      const relations = {
        papers: {
          type: "hasMany" as const,
          resource: "papers",
          references: "id",
          foreignKey: "owner",
          filterable: true,
        },
      };
      const app = await createApp({
        db,
        secret: "a secret for the tests only",
        resources: tables.map((table) => {
          const options: ResourceOptions<Record<string, unknown>> = {
            id: table.primaryKey.map(({ name }) => name),
            auth: open,
            relations: table.name === "people" ? relations : {},
          };
          return resource(table, options);
        }),
      });
      try {
        const items = async (query: string) =>
          (await (await app.fetch(new Request(`http://test/api/people?${query}`))).json()).items;
        const expected = [{ id: "alice", papers: [{ id: 1 }] }];
        const both = db.dialect.engine === "sqlite"
          ? [{ id: "ALICE", papers: [{ id: 2 }] }, ...expected]
          : expected;
        const found = await items("include=papers(select:id)&select=id");
        assertEquals(new Set(found), new Set(both));
        assertEquals(await items("filter=papers.id==1&select=id"), [{ id: "alice" }]);
      } finally {
        await app.close();
      }
    },
  );
}
