import { assertEquals, assertRejects } from "@std/assert";
import { DatabaseError } from "../../../src/db/database_error.ts";
import { eq } from "../../../src/filter/builders.ts";
import {
  boolean,
  date,
  decimal,
  integer,
  json,
  real,
  text,
  timestamp,
  uuid,
} from "../../../src/schema/column_builder.ts";
import { table } from "../../../src/schema/table.ts";
import { everyEngine } from "../../support/engines.ts";
import { testUnless } from "../../support/skip.ts";
import type { Database } from "../../../src/db/database.ts";

const orders = table("order", {
  id: integer().primaryKey(),
  note: text().as('no"te'),
  count: integer().as("value"),
  paidAt: timestamp().as("paid_at"),
  day: date(),
  total: decimal({ precision: 10, scale: 2 }),
  exact: decimal(),
  done: boolean(),
  rate: real(),
  token: uuid(),
  data: json(),
});
const at = "2026-01-02T03:04:05.678Z";

/** Runs on every engine by every driver, over a table with two rows, of which the second is empty. */
function test(fault: string, work: (db: Database) => Promise<void>): void {
  for (const engine of everyEngine) {
    testUnless(engine.ignore ?? null, `${engine.name} db.sql: ${fault}`, async () => {
      const db = await engine.open();
      try {
        await db.createTables([orders]);
        await db.sql`INSERT INTO ${orders} (${orders.id}, ${orders.note}, ${orders.count},
            ${orders.paidAt}, ${orders.day}, ${orders.total}, ${orders.exact}, ${orders.done},
            ${orders.rate}, ${orders.data})
          VALUES ${[
          [1, "x", 10, at, "2026-01-02", "12.50", "0.1", true, 1.5, { a: 1 }],
          [2, null, null, null, null, null, null, null, null, null],
        ]}`;
        await work(db);
      } finally {
        await db.close();
      }
    });
  }
}

/** Each is refused before anything is sent, so that the transaction of Postgres continues. */
async function allRefused(
  db: Database,
  statements: (sql: Database["sql"]) => readonly (readonly [PromiseLike<unknown>, string])[],
): Promise<void> {
  await db.transaction(async (tx) => {
    for (const [statement, message] of statements(tx.sql)) {
      const error = await assertRejects(async () => await statement, Error, message);
      const isOfEngine = error instanceof DatabaseError && error.kind !== "invalid-value";
      assertEquals(isOfEngine, false, error.message);
    }
    assertEquals((await tx.sql`SELECT count(*) AS n FROM ${orders}`).rows, [{ n: 2 }]);
  });
}

test("a statement without a statement ended the process under node:sqlite", async (db) => {
  await allRefused(db, (sql) => [
    [sql``, "empty"],
    [
      sql` -- nothing
      `,
      "empty",
    ],
    [sql`/* nothing */;`, "empty"],
  ]);
});

test("a decimal was stored with the digits of doubles", async (db) => {
  const { total, rate } = orders;
  await allRefused(db, (sql) => [
    [sql`UPDATE ${orders} SET ${total} = ${total} * 1.25, ${rate} = 1`, "round(…, 2)"],
    [
      sql`UPDATE ${orders} SET ${rate} = 1, ${total} = ${total} + ${1.5} WHERE id = 1`,
      "round(…, 2)",
    ],
  ]);
  await db.sql`UPDATE ${orders} SET ${total} = round(${total} * ${1.1} / ${2}, 2), ${rate} = 1 + 1`;
  const { rows } = await db.sql`SELECT ${total}, ${rate} FROM ${orders} WHERE id = 1`;
  assertEquals(rows, [{ total: "6.88", rate: 2 }]);
});

test("a text that could be another kind needs its column, wherever it stands", async (db) => {
  const { note, paidAt, count } = orders;
  const at2030 = db.sql.value(paidAt, "2030-01-01T01:00:00+01:00");
  await allRefused(db, (sql) => [
    [sql`SELECT ${paidAt} FROM ${orders} WHERE lower(${note}) = ${"x"}`, "db.sql.value(column"],
    [
      sql`INSERT INTO ${orders} (${orders.id}, ${paidAt})
        VALUES (9, coalesce(${null}, ${"2030-01-01"}))`,
      "db.sql.value(column",
    ],
    [sql`SELECT id FROM ${orders} WHERE max(${paidAt}, ${"2030"}) IS NULL`, 'near "paidAt"'],
    [sql`SELECT * FROM ${orders} UNION SELECT ${"2030"} AS note`, 'near "paidAt"'],
  ]);
  const { rows } = await db.sql`
    SELECT coalesce(${paidAt}, ${at2030}) AS ${paidAt}, ${"n. "} || ${note} AS named FROM ${orders}
    WHERE ${note} LIKE ${"%x%"} OR coalesce(${note}, CAST(${"none"} AS text)) = ${"none"} || ${""}
    ORDER BY id`;
  assertEquals(rows, [{ paidAt: at, named: "n. x" }, {
    paidAt: "2030-01-01T00:00:00.000Z",
    named: null,
  }]);
  await db.sql`UPDATE ${orders} SET ${count} = ${count} + ${2}, ${note} = lower(${"ABC"})`;
  assertEquals((await db.sql`SELECT ${note}, value FROM ${orders} WHERE id = 1`).rows, [
    { note: "abc", count: 12 },
  ]);
});

test("SQLite took literals that are no values of their column", async (db) => {
  const { count, day, total, done, token, data } = orders;
  await allRefused(db, (sql) => [
    [sql`UPDATE ${orders} SET ${done} = 'yes'`, "interpolate the value"],
    [sql`UPDATE ${orders} SET ${done} = 2`, "interpolate the value"],
    [sql`SELECT id FROM ${orders} WHERE ${done} = 1`, "interpolate the value"],
    [sql`UPDATE ${orders} SET ${total} = 5.255`, "interpolate the value"],
    [sql`UPDATE ${orders} SET ${count} = 'ten'`, "interpolate the value"],
    [sql`UPDATE ${orders} SET ${data} = '{"a":1}'`, "interpolate the value"],
    [sql`SELECT id FROM ${orders} WHERE ${day} > '2026-1-2'`, "interpolate the value"],
    [
      sql`SELECT id FROM ${orders} WHERE ${token} = '00000000-0000-4000-8000-0000000000FF'`,
      "interpolate the value",
    ],
    [sql`INSERT INTO ${orders} (${orders.id}, ${done}) VALUES (9, 1)`, "interpolate the value"],
    [
      sql`SELECT id FROM ${orders} WHERE ${orders.paidAt} IN (${at}, '2026-01-01')`,
      "interpolate the value",
    ],
  ]);
  await db.sql`UPDATE ${orders} SET ${done} = TRUE, ${total} = 5.25, ${count} = 7
    WHERE ${day} = '2026-01-02'`;
  const { rows } = await db.sql`SELECT ${done}, ${total}, ${count} FROM ${orders} WHERE id = 1`;
  assertEquals(rows, [{ done: true, total: "5.25", count: 7 }]);
});

test("a value after THEN was stored in another form than beside its column", async (db) => {
  await allRefused(db, (sql) => [[
    sql`UPDATE ${orders} SET ${orders.paidAt} =
      CASE WHEN ${orders.id} = ${2} THEN ${"2030-01-01"} ELSE ${orders.paidAt} END`,
    "db.sql.value",
  ]]);
  const then = db.sql.value(orders.paidAt, "2030-01-01T01:00:00+01:00");
  await db.sql`UPDATE ${orders} SET ${orders.paidAt} =
    CASE WHEN ${orders.id} = ${2} THEN ${then} ELSE ${orders.paidAt} END`;
  const { rows } = await db.sql`SELECT ${orders.id} FROM ${orders}
    WHERE ${orders.paidAt} = ${"2030-01-01T00:00:00Z"}`;
  assertEquals(rows, [{ id: 2 }]);
});

test("a boolean that decides made the result of CASE a boolean", async (db) => {
  const { rows } = await db.sql`
    SELECT CASE WHEN ${orders.done} = ${true} THEN ${"yes"} ELSE ${"no"} END AS answer
    FROM ${orders} ORDER BY ${orders.id}`;
  assertEquals(rows, [{ answer: "yes" }, { answer: "no" }]);
});

test("what a subquery computes was shown as the column of that name", async (db) => {
  await allRefused(db, (sql) => [
    [sql`SELECT * FROM (SELECT count(*) AS done FROM ${orders}) AS s`, "Cannot tell whose column"],
    [sql`SELECT done FROM (SELECT count(*) AS done FROM ${orders}) AS s`, "Cannot tell whose"],
    [sql`SELECT "done" FROM (SELECT count(*) AS done FROM ${orders}) AS s`, "Cannot tell whose"],
    [
      sql`SELECT latest FROM (SELECT max(${orders.paidAt}) AS latest FROM ${orders}) AS s`,
      "the kind",
    ],
    [
      sql`SELECT id FROM (SELECT id, count(*) AS paid_at FROM ${orders} GROUP BY id) AS s
        WHERE paid_at = ${"2030-01-01T00:00:00Z"}`,
      "which column",
    ],
  ]);
});

test("names before a WITH query lost the kinds of its columns", async (db) => {
  const { rows } = await db.sql`
    WITH paid (k, moment, state) AS (
      SELECT ${orders.id}, ${orders.paidAt}, ${orders.done} FROM ${orders})
    SELECT k, moment, state FROM paid WHERE moment = ${at}`;
  assertEquals(rows, [{ k: 1, moment: at, state: true }]);
});

test("a moment that is selected was shown as the engine prints it", async (db) => {
  await allRefused(db, (sql) => [[sql`SELECT ${new Date(0)} AS began`, "timestamp().as("]]);
  const { rows } = await db.sql`SELECT ${new Date(0)} AS ${timestamp().as("began")}`;
  assertEquals(rows, [{ began: "1970-01-01T00:00:00.000Z" }]);
});

test("sums of decimals without a scale had the digits of doubles", async (db) => {
  await db.sql`UPDATE ${orders} SET ${orders.exact} = ${"0.2"} WHERE id = 2`;
  await allRefused(db, (sql) => [
    [sql`SELECT sum(${orders.exact}) AS ${orders.exact} FROM ${orders}`, "without its digits"],
  ]);
  const sum = decimal({ precision: 20, scale: 1 }).as("sum");
  const { rows } = await db.sql`SELECT sum(${orders.exact}) AS ${sum} FROM ${orders}`;
  assertEquals(rows, [{ sum: "0.3" }]);
});

test("a comment at the end of a part hid what follows the part", async (db) => {
  const sorted = db.sql`ORDER BY ${orders.id} -- the oldest first`;
  const { rows } = await db.sql`SELECT ${orders.id} FROM ${orders} ${sorted} LIMIT ${1}`;
  assertEquals(rows, [{ id: 1 }]);
  await allRefused(db, (sql) => [
    [
      sql`SELECT id FROM ${orders} -- not ${1}
      WHERE id = 1`,
      "is not closed",
    ],
    [sql`SELECT id FROM ${orders} /* a /* b */ c */`, "is not closed"],
  ]);
});

test("words grew together with what is interpolated beside them", async (db) => {
  const { rows } = await db.sql`SELECT ${orders.id} FROM ${orders}
    WHERE ${orders.count}>=${10} AND ${orders.id}<${5}${db.sql`LIMIT`}${1}`;
  assertEquals(rows, [{ id: 1 }]);
});

test("a statement after IN needed parentheses of its own", async (db) => {
  const paid = db.sql`SELECT ${orders.id} FROM ${orders} WHERE ${orders.paidAt} = ${at}`;
  const ids = async (statement: PromiseLike<{ rows: unknown[] }>) => (await statement).rows;
  assertEquals(await ids(db.sql`SELECT id FROM ${orders} WHERE id IN ${paid}`), [{ id: 1 }]);
  assertEquals(await ids(db.sql`SELECT id FROM ${orders} WHERE id NOT IN (${paid})`), [{ id: 2 }]);
});

test("a name as a value was an error of the engine, or sorted nothing", async (db) => {
  await allRefused(db, (sql) => [
    [sql`SELECT id FROM ${"order"}`, "in place of a name"],
    [sql`UPDATE ${"order"} SET done = TRUE`, "in place of a name"],
    [sql`UPDATE ${orders} SET ${"done"} = TRUE`, "in place of a name"],
    [sql`INSERT INTO ${"order"} (id) VALUES (9)`, "in place of a name"],
    [sql`SELECT id FROM ${orders} ORDER BY ${"id"} DESC`, "interpolate the column"],
    [sql`SELECT count(*) AS n FROM ${orders} GROUP BY ${1}`, "interpolate the column"],
  ]);
});

test("LIMIT took texts, fractions, NULL and negative numbers by engine", async (db) => {
  for (const limit of ["1", 1.5, null, -1, 2n ** 63n]) {
    const error = await assertRejects(
      async () => await db.sql`SELECT id FROM ${orders} LIMIT ${limit}`,
      DatabaseError,
    );
    assertEquals(error.kind, "invalid-value");
  }
  const { rows } = await db
    .sql`SELECT id FROM ${orders} ORDER BY id LIMIT ${1n} OFFSET ${0} + ${1}`;
  assertEquals(rows, [{ id: 2 }]);
});

test("SQL of one engine was sent to all", async (db) => {
  await allRefused(db, (sql) => [
    [sql`PRAGMA foreign_keys = OFF`, "use transaction()"],
    [sql`ATTACH 'x' AS y`, "use transaction()"],
    [sql`LISTEN x`, "use transaction()"],
    [sql`REPLACE INTO ${orders} (${orders.id}) VALUES (1)`, "query()"],
    [sql`SELECT ${orders.id}::text AS id FROM ${orders}`, "CAST(… AS …)"],
    [sql`SELECT id FROM ${orders} WHERE ${orders.id} == ${1}`, "write ="],
    [sql`SELECT E'a' AS letter`, "interpolate the value"],
    [sql`SELECT X'00' AS bytes`, "interpolate the value"],
    [sql`SELECT $$a$$ AS letter`, "interpolate the value"],
  ]);
});

test("more values than SQLite binds were an error of one engine", async (db) => {
  const many = Array.from({ length: 32_767 }, (_, index) => index);
  await allRefused(db, (sql) => [
    [sql`SELECT id FROM ${orders} WHERE ${orders.id} IN ${many}`, "Cannot bind 32767 values"],
  ]);
});

test("a value of a later SELECT of a UNION had a form of its own", async (db) => {
  const paid = (value: string) => db.sql.value(orders.paidAt, value);
  const { rows } = await db.sql`
    SELECT ${orders.id}, ${orders.paidAt} AS moment, ${orders.done} FROM ${orders} WHERE id = 1
    UNION ALL SELECT ${3}, ${paid("2026-01-02T04:04:05+01:00")}, ${false}
    UNION ALL SELECT ${4}, ${null}, ${null} ORDER BY 1`;
  assertEquals(rows, [
    { id: 1, moment: at, done: true },
    { id: 3, moment: "2026-01-02T03:04:05.000Z", done: false },
    { id: 4, moment: null, done: null },
  ]);
  const same = await db.sql`SELECT * FROM (SELECT ${orders.paidAt} FROM ${orders} WHERE id = 1
    UNION SELECT ${paid("2026-01-02T04:04:05.678+01:00")}) AS s`;
  assertEquals(same.rows, [{ paidAt: at }]);
});

test("a document of a request that looks like a filter text was refused", async (db) => {
  const document = { kind: "text", text: "id==1", values: [] };
  await db.sql`UPDATE ${orders} SET ${orders.data} = ${document} WHERE ${orders.id} = ${1}`;
  const { rows } = await db.sql`SELECT ${orders.data} FROM ${orders} WHERE id = 1`;
  assertEquals(rows, [{ data: document }]);
});

test("one place in the source has a plan for each of its columns and kinds", async (db) => {
  const select = (column: unknown, value: unknown) =>
    db.sql`SELECT ${column as object} AS v FROM ${orders} WHERE ${column as object} = ${value as string}`;
  for (let round = 0; round < 3; round++) {
    assertEquals((await select(orders.paidAt, at)).rows, [{ v: at }]);
    assertEquals((await select(orders.done, true)).rows, [{ v: true }]);
    assertEquals((await select(orders.total, "12.50")).rows, [{ v: "12.50" }]);
    const nested = (condition: object) =>
      db.sql`SELECT ${orders.id}, ${orders.paidAt} FROM ${orders} WHERE ${condition}`;
    const expected = [{ id: 1, paidAt: at }];
    assertEquals((await nested(db.sql`${orders.paidAt} = ${at}`)).rows, expected);
    assertEquals((await nested(db.sql`${orders.done} = ${true}`)).rows, expected);
    assertEquals((await nested(eq(orders.count, 10))).rows, expected);
    const named = (kind: object) => db.sql`SELECT max(${orders.paidAt}) AS ${kind} FROM ${orders}`;
    assertEquals((await named(timestamp().as("a"))).rows, [{ a: at }]);
    assertEquals((await named(timestamp().as("b"))).rows, [{ b: at }]);
  }
});
