import { assert, assertEquals } from "@std/assert";
import {
  all,
  type Database,
  eq,
  index,
  inList,
  integer,
  or,
  resource,
  table,
  text,
  type User,
} from "../../mod.ts";
import type { SearchAdapter } from "../../exports/search.ts";
import { tableInfoOf } from "../../src/schema/table_like.ts";
import { type Statement, watched } from "./batch_support.ts";
import { as, type SearchEngine, searchEngines } from "./search_support.ts";
import { type Service, withService } from "../support/http.ts";
import { testUnless } from "../support/skip.ts";

/** Tables of every kind of key, with an index that leads to the rows of an owner and without. */
const tables = [true, false].flatMap((isIndexed) => {
  const end = isIndexed ? "_indexed" : "";
  const others = () => ({
    ownerId: text().notNull().as("owner_id"),
    teamId: text().as("team_id"),
    title: text().notNull(),
    body: text(),
  });
  return [
    table(
      `numbers${end}`,
      { id: integer().primaryKey(), ...others() },
      (rows) => isIndexed ? [index(rows.ownerId), index(rows.teamId)] : [],
    ),
    table(
      `texts${end}`,
      { id: text().primaryKey(), ...others() },
      (rows) => isIndexed ? [index(rows.ownerId), index(rows.teamId)] : [],
    ),
    table(
      `pairs${end}`,
      { id: integer().primaryKey(), part: text().primaryKey().default("p"), ...others() },
      (rows) => isIndexed ? [index(rows.ownerId), index(rows.teamId)] : [],
    ),
  ];
});
type Searched = (typeof tables)[number];

/** By the header of the caller: `ada`, or `ada,team-1` for a scope of two equalities. */
function scopeOf(rows: Searched, { id }: User) {
  const [owner = "", team] = id.split(",");
  return team === undefined
    ? eq(rows.ownerId, owner)
    : or(eq(rows.ownerId, owner), inList(rows.teamId, [team, "team-x"]));
}

function served(rows: Searched, db: Database) {
  const info = tableInfoOf(rows);
  return resource(info, {
    id: info.primaryKey.map(({ name }) => name),
    db,
    auth: { read: (user: User) => scopeOf(rows, user), create: () => all() },
  });
}

function withTables(
  { engine, adapter }: SearchEngine,
  work: (service: Service, statements: Statement[]) => Promise<void>,
  changed: (adapter: SearchAdapter) => SearchAdapter = (same) => same,
): Promise<void> {
  const statements: Statement[] = [];
  const config = (db: Database) => {
    const seen = watched(db, (statement) => statements.push(statement));
    const resources = tables.map((rows) => served(rows, seen));
    return { resources, search: changed(adapter()) };
  };
  return withService(engine, tables, config, (service) => work(service, statements));
}

const words = [
  "tea",
  "teapot",
  "green",
  "Tee",
  "café",
  "茶",
  "茶葉",
  "x1",
  "x12",
  "node.js",
  "o'neil",
]
  .concat(["हिन्दी", "हिन्द", "ﬁne", "straße", "STRASSE", "100%", "a_b", '"quoted"', "NEAR", "*"]);

const names = ["numbers", "texts", "pairs"];

for (const engine of searchEngines) {
  testUnless(
    engine.engine.ignore ?? null,
    `an index that leads to the rows in scope changes no answer of a search (${engine.name})`,
    () =>
      withTables(engine, async (service) => {
        const random = numbers();
        const text = () => Array.from({ length: 1 + random(7) }, () => words[random(words.length)]);
        const items = Array.from({ length: 90 }, (_, at) => ({
          id: at + 1,
          ownerId: ["ada", "bob", "Ada"][random(3)],
          teamId: [null, "team-1", "team-x"][random(3)],
          title: text().join(" "),
          body: random(4) === 0 ? null : text().join(random(2) === 0 ? "-" : " "),
        }));
        for (const name of names) {
          for (const end of ["", "_indexed"]) {
            const given = name === "texts"
              ? items.map((one) => ({ ...one, id: `${one.id}` }))
              : items;
            const sent = await service.send(
              "POST",
              `/api/${name}${end}/batch`,
              { items: given },
              as("ada"),
            );
            assertEquals(sent.status, 201, JSON.stringify(sent.body));
          }
        }
        for (let turn = 0; turn < 60; turn++) {
          const q = Array.from({ length: 1 + random(3) }, () => words[random(words.length)] ?? "")
            .join(random(3) === 0 ? "-" : " ").slice(0, random(3) === 0 ? -1 : 99);
          const rest = ["", "&highlight=true", "&limit=2&offset=1", "&filter=title!=x"][turn % 4];
          const user = ["ada", "Ada", "nobody", "bob,team-1"][random(4)] ?? "";
          for (const name of names) {
            const ask = async (end: string) => {
              const path = `/api/${name}${end}/search?q=${encodeURIComponent(q)}${rest}`;
              const { status, body } = await service.get(path, as(user));
              return [q, user, status, body];
            };
            assertEquals(await ask("_indexed"), await ask(""));
          }
        }
      }),
  );
}

const oneOfEach = [
  ...["memory on better-sqlite3", "database on better-sqlite3", "database on node:sqlite"],
  ...["database on postgres", "database on pglite"],
];

for (const engine of searchEngines.filter(({ name }) => oneOfEach.includes(name))) {
  testUnless(
    engine.engine.ignore ?? null,
    `a search of few rows in scope looks at no rows of others that have its words (${engine.name})`,
    () => {
      const looked: number[] = [];
      return withTables(engine, async (service, statements) => {
        for (const name of names) {
          await insertOthers(service, `${name}_indexed`, 3_000);
          await service.send("POST", `/api/${name}_indexed`, {
            ...{ id: name === "texts" ? "0" : 0, ownerId: "ada", title: "common needle" },
          }, as("ada"));
        }
        await service.app.reindex();
        await analyze(service, engine);
        for (const name of names) {
          for (const q of ["common", "comm", "common+needle", "common-needle", "zzz"]) {
            for (const user of ["ada", "ada,none", "nobody"]) {
              statements.length = 0;
              looked.length = 0;
              const { body } = await service.get(`/api/${name}_indexed/search?q=${q}`, as(user));
              const found = user === "nobody" || q === "zzz" ? 0 : 1;
              assertEquals([q, user, body.total], [q, user, found]);
              assert(looked.every((count) => count <= 1), `${looked}`);
              assert(statements.length <= (engine.name.startsWith("memory") ? 3 : 2));
              for (const statement of statements) {
                const visited = await rowsVisited(statement, service, engine);
                assert(visited <= 20, `${q} ${user} ${name}: ${visited}\n${statement.text}`);
              }
            }
          }
        }
      }, (adapter) => countingFinds(adapter, looked));
    },
  );
}

/** Past the service, since they are many. */
async function insertOthers(service: Service, name: string, count: number): Promise<void> {
  const rows = Array.from({ length: count }, (_, at) => `('${at + 1}', 'bob', 'common needle')`);
  const text = `INSERT INTO ${name} (id, owner_id, title) VALUES ${rows.join(", ")}`;
  await service.db.driver.query({
    text: name.startsWith("pairs")
      ? text.replace("(id,", "(part, id,").replaceAll("('", "('p', '")
      : text,
    values: [],
  });
}

async function analyze({ db }: Service, { name }: SearchEngine): Promise<void> {
  const text = /sqlite/.test(name) ? "ANALYZE" : "VACUUM ANALYZE";
  await db.driver.query({ text, values: [] });
}

/** Counts the documents that an engine outside of the database is limited to. */
function countingFinds(adapter: SearchAdapter, looked: number[]): SearchAdapter {
  return {
    ...adapter,
    openIndex(...given) {
      const backend = adapter.openIndex(...given);
      const find = backend.find?.bind(backend);
      if (find !== undefined) {
        backend.find = (query, within, signal) => {
          looked.push(within?.length ?? Infinity);
          return find(query, within, signal);
        };
      }
      return backend;
    },
  };
}

/** Postgres counts the rows of each part of a plan; SQLite says which of them reads the words. */
async function rowsVisited(
  { text, values }: Statement,
  { db: { driver } }: Service,
  { name }: SearchEngine,
): Promise<number> {
  if (/sqlite/.test(name)) {
    const { rows } = await driver.query({ text: `EXPLAIN QUERY PLAN ${text}`, values });
    const isWhole = rows.some((row) =>
      /VIRTUAL TABLE INDEX 0:M|SCAN \w+_indexed/.test(`${row[3]}`)
    );
    return isWhole ? Infinity : 0;
  }
  const analyzed = `EXPLAIN (ANALYZE, FORMAT JSON) ${text}`;
  const { rows: [plan] } = await driver.query({ text: analyzed, values });
  const told = typeof plan?.[0] === "string" ? plan[0] : JSON.stringify(plan?.[0]);
  let visited = 0;
  JSON.parse(told, (_name, node) => {
    const rows = (node?.["Actual Rows"] ?? 0) + (node?.["Rows Removed by Filter"] ?? 0) +
      (node?.["Rows Removed by Index Recheck"] ?? 0);
    visited += rows * (node?.["Actual Loops"] ?? 1);
    return node;
  });
  return visited;
}

/** Numbers below a limit, the same ones in every run. */
function numbers(): (below: number) => number {
  let state = 5;
  return (below) => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return (state >> 8) % below;
  };
}
