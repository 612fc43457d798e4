import { assert, assertEquals } from "@std/assert";
import { all, type Database, resource } from "../../mod.ts";
import type { Engine } from "../support/engines.ts";
import { type Service, testOnEngines, withService } from "../support/http.ts";
import { run, runScript } from "../support/scratch.ts";
import { asNdjson, parseNdjson } from "./export_support.ts";

/** Of SQLite, a table without a key has columns with all names of the row id. */
const scripts = {
  sqlite: `
CREATE TABLE t (rowid TEXT COLLATE NOCASE, _rowid_ INTEGER, oid REAL, price NUMERIC, at TIMESTAMP,
  doc JSON, bits BLOB)`,
  postgres: `
CREATE COLLATION loose (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
CREATE TABLE t (rowid text COLLATE loose, _rowid_ int, oid float8, price numeric, at timestamptz,
  doc json, bits bytea)`,
};

const long = "x".repeat(4_000);
const texts = ["a", "A", "b", "b ", "", null, `${long}1`, `${long}2`];
const reals = ["0.5", "-0.0", "0", "1e300", null, "'NaN'"];
const prices = ["1.0", "1.00", "2", null];
const times = ["'2024-01-01 00:00:00'", "'2024-01-01 00:00:00.5'", null];
const documents = [`'{"a":1}'`, `'{"a":2}'`, null];

type Item = Readonly<Record<string, unknown>>;

/** Numbers that are the same in each run. */
function createDice(seed: number): (sides: number) => number {
  let state = seed;
  return (sides) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return (state >>> 16) % sides;
  };
}

/** Sixty rows, of which many are equal, and many equal but for one column. */
function rowsOf(engine: "sqlite" | "postgres"): readonly string[] {
  const dice = createDice(7);
  const pick = <T>(list: readonly T[]) => list[dice(list.length)];
  return Array.from({ length: 60 }, (_, index) => {
    // Equal ones, and some that differ in what the database takes for equal.
    if (index % 2 === 0) {
      const text = pick(["twice", "Twice", "TWICE"]);
      return `('${text}', 1, ${pick(["0.0", "-0.0"])}, ${
        pick(prices.slice(0, 2))
      }, NULL, NULL, NULL)`;
    }
    const text = pick(texts);
    const real = engine === "sqlite" ? pick(reals.slice(0, 5)) : pick(reals);
    const bytes = pick([null, "01", "02"]);
    const bits = bytes === null ? "NULL" : engine === "sqlite" ? `x'${bytes}'` : `'\\x${bytes}'`;
    const cells = [
      ...[text === null ? "NULL" : `'${text}'`, pick(["1", "2", null]), real, pick(prices)],
      ...[pick(times), pick(documents), bits],
    ];
    return `(${cells.map((cell) => cell ?? "NULL").join(", ")})`;
  });
}

const orders = [
  "",
  "rowid",
  "-rowid",
  "_rowid_,-oid",
  "-price",
  "at",
  "-at,rowid",
  "oid",
  "-_rowid_",
];
/** With the same in SQL. */
const filters: readonly (readonly [string, string])[] = [
  ["", "1 = 1"],
  ["_rowid_==1", "_rowid_ = 1"],
  ["oid=gt=0,at=isnull=true", "oid > 0 OR at IS NULL"],
];

testOnEngines(
  "a walk along a table without a key gives every row once, equal ones too",
  async (engine) => {
    await withKeyless(engine, async ({ db, get }) => {
      const page = async (query: Record<string, string>) => {
        const { status, body } = await get(`/api/t?${new URLSearchParams(query)}`);
        assertEquals(status, 200, JSON.stringify(body));
        return body;
      };
      let limit = 0;
      for (const [filter, where] of filters) {
        const { rows: [[count] = []] } = await run(db, `SELECT count(*) FROM t WHERE ${where}`);
        const { items: all } = await page({ filter, limit: "100" });
        assertEquals(all.length, Number(count));
        assertEquals((await get(`/api/t/count?filter=${filter}`)).body, { count: Number(count) });
        for (const orderBy of orders) {
          limit = limit % 7 + 1;
          const { items: ordered } = await page({ filter, orderBy, limit: "100" });
          const walked: unknown[] = [];
          let cursor = "";
          do {
            const { items, nextCursor, hasMore } = await page({
              ...{ filter, orderBy, cursor, limit: String(limit) },
            });
            assert(items.length === limit || !hasMore);
            assertEquals(hasMore, nextCursor !== null);
            walked.push(...items);
            cursor = nextCursor ?? "";
            assert(walked.length <= all.length, `${filter} ${orderBy} by ${limit}`);
          } while (cursor !== "");
          assertEquals(walked, ordered, `${filter} ${orderBy} by ${limit}`);
          assertEquals(sorted(walked), sorted(all));
          if (orderBy !== "") await checkOrder(ordered, db, { orderBy, where });
        }
      }
      const exported = await get("/api/t?orderBy=-price", asNdjson);
      const { items } = await page({ limit: "100" });
      assertEquals(sorted(parseNdjson(exported.body)), sorted(items));
    });
  },
);

/** The rows have the order of SQL, where equal ones may be in any. */
async function checkOrder(
  items: readonly Item[],
  db: Database,
  { orderBy, where }: { readonly orderBy: string; readonly where: string },
): Promise<void> {
  const keys = orderBy.split(",").map((key) => key.replace("-", ""));
  const order = orderBy.split(",").map((key, index) =>
    `${keys[index]} ${key.startsWith("-") ? "DESC" : ""} NULLS LAST`
  );
  const { rows } = await run(db, `SELECT ${keys} FROM t WHERE ${where} ORDER BY ${order}`);
  assertEquals(
    items.map((item) => keys.map((key) => comparable(item[key], key))),
    rows.map((row) => keys.map((key, index) => comparable(row[index], key))),
    orderBy,
  );
}

/** Equal for values that the database orders as equal. */
function comparable(value: unknown, key: string): unknown {
  if (value === null || value === undefined) return null;
  if (key === "at") {
    return Date.parse(`${String(value).replace(" ", "T").replace("+00", "Z")}`.replace(/Z?$/, "Z"));
  }
  return key === "rowid" ? String(value).toLowerCase() : Number(value);
}

function sorted(items: readonly unknown[]): readonly string[] {
  return items.map((item) => JSON.stringify(item)).sort();
}

async function withKeyless(
  engine: Engine,
  work: (service: Service) => Promise<void>,
): Promise<void> {
  const db = await engine.open();
  await runScript(db.driver, scripts[db.dialect.engine]);
  await run(db, `INSERT INTO t VALUES ${rowsOf(db.dialect.engine).join(", ")}`);
  const { tables: [table] } = await db.introspect();
  assert(table !== undefined);
  assertEquals([table.primaryKey, table.readOnly], [[], true]);
  await withService(
    { ...engine, open: () => Promise.resolve(db) },
    [],
    () => ({
      resources: [resource(table, {
        id: [],
        auth: { public: true, create: () => all() },
        capabilities: { enableExport: true },
      })],
    }),
    work,
  );
}
