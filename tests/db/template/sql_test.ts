import { assertEquals, assertRejects } from "@std/assert";
import { DatabaseError } from "../../../src/db/database_error.ts";
import { and, or } from "../../../src/filter/filter.ts";
import { all, eq, gt, inList } from "../../../src/filter/builders.ts";
import { rsql } from "../../../src/filter/filter_text.ts";
import {
  boolean,
  bytes,
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
import { sql } from "../../../src/sql/fragment.ts";
import { everyEngine } from "../../support/engines.ts";
import { testUnless } from "../../support/skip.ts";
import type { Database } from "../../../src/db/database.ts";

const people = table("people", {
  id: integer().primaryKey(),
  name: text().notNull(),
  bossId: integer().as("boss_id"),
});
const notes = table("user notes", {
  id: integer().primaryKey(),
  ownerId: integer().as("owner_id"),
  title: text().notNull().default("untitled"),
  order: integer().as("order"),
  isDone: boolean().as("is_done"),
  remindAt: timestamp().as("remind_at"),
  price: decimal({ precision: 10, scale: 2 }),
  rate: real(),
  day: date(),
  token: uuid(),
  tags: json<string[]>(),
  data: bytes(),
});

/** Runs on every engine by every driver, over a fresh database with both tables. */
function test(promise: string, work: (db: Database) => Promise<void>): void {
  for (const engine of everyEngine) {
    testUnless(engine.ignore ?? null, `${engine.name} db.sql: ${promise}`, async () => {
      const db = await engine.open();
      try {
        await db.createTables([people, notes]);
        await db.sql`INSERT INTO ${people} (${people.id}, ${people.name}, ${people.bossId})
          VALUES (1, 'Ada', NULL), (2, 'Bob', 1), (3, 'Cy', 1)`;
        await work(db);
      } finally {
        await db.close();
      }
    });
  }
}

test("tables and columns are quoted names, and rows have the properties", async (db) => {
  await db.sql`INSERT INTO ${notes} (${notes.id}, ${notes.ownerId}, ${notes.order})
    VALUES (${1}, ${2}, ${3})`;
  const { rows, changed } = await db.sql`
    SELECT ${notes.id}, ${notes.ownerId}, ${notes.order}, ${notes.title}
    FROM ${notes} WHERE ${notes.ownerId} = ${2} ORDER BY ${notes.order}`;
  assertEquals(rows, [{ id: 1, ownerId: 2, order: 3, title: "untitled" }]);
  assertEquals(changed, 0);
});

test("a star has every column of the table by its property", async (db) => {
  const { rows } = await db.sql`SELECT * FROM ${people} WHERE id = 2`;
  assertEquals(rows, [{ id: 2, name: "Bob", bossId: 1 }]);
  const counted = await db.sql`SELECT p.*, 1 + 1 AS two FROM ${people} AS p WHERE id = 2`;
  assertEquals(counted.rows, [{ id: 2, name: "Bob", bossId: 1, two: 2 }]);
});

test("aliases and self joins: the qualifier is written before the column", async (db) => {
  const { rows } = await db.sql`
    SELECT p.${people.name}, boss.${people.name} AS "bossName", boss.${people.id} AS bossId
    FROM ${people} AS p JOIN ${people} AS boss ON boss.${people.id} = p.${people.bossId}
    WHERE p.${people.id} = ${2}`;
  assertEquals(rows, [{ name: "Bob", bossName: "Ada", bossId: 1 }]);
});

test("two columns of one name are an error that says to alias", async (db) => {
  const twice = () =>
    db.sql`SELECT a.${people.name}, b.${people.name} FROM ${people} AS a, ${people} AS b`;
  await assertRejects(twice, Error, 'two columns named "name": name one of them with AS');
  await db.sql`INSERT INTO ${notes} (${notes.id}) VALUES (${1})`;
  const stars = () => db.sql`SELECT * FROM ${people}, ${notes}`;
  await assertRejects(stars, Error, 'two columns named "id"');
});

test("an update and a delete say how many rows they changed", async (db) => {
  const updated = await db.sql`
    UPDATE ${people} SET ${people.name} = ${"Dee"}, ${people.bossId} = ${null}
    WHERE ${people.id} > ${1}`;
  assertEquals(updated, { rows: [], changed: 2 });
  const deleted = await db.sql`
    DELETE FROM ${people} WHERE ${people.name} = ${"Dee"} RETURNING ${people.id}`;
  assertEquals(deleted.changed, 2);
  assertEquals(deleted.rows, [{ id: 2 }, { id: 3 }]);
});

test("INSERT … RETURNING gives the row, and an upsert changes it", async (db) => {
  const upsert = (name: string) =>
    db.sql`INSERT INTO ${people} (${people.id}, ${people.name}) VALUES (${9}, ${name})
      ON CONFLICT (${people.id}) DO UPDATE SET ${people.name} = ${`${name}!`}
      RETURNING *`;
  assertEquals((await upsert("Eve")).rows, [{ id: 9, name: "Eve", bossId: null }]);
  assertEquals((await upsert("Eve")).rows, [{ id: 9, name: "Eve!", bossId: null }]);
});

test("rows after VALUES are a list of lists", async (db) => {
  const rows = [[7, "2026-01-02T03:04:05Z", true], [8, null, null]];
  const { changed } = await db.sql`
    INSERT INTO ${notes} (${notes.id}, ${notes.remindAt}, ${notes.isDone}) VALUES ${rows}`;
  assertEquals(changed, 2);
  const read = await db.sql`SELECT ${notes.remindAt}, ${notes.isDone} FROM ${notes} ORDER BY id`;
  assertEquals(read.rows, [
    { remindAt: "2026-01-02T03:04:05.000Z", isDone: true },
    { remindAt: null, isDone: null },
  ]);
});

test("INSERT … SELECT binds its values for the columns", async (db) => {
  await db.sql`INSERT INTO ${notes} (${notes.id}, ${notes.remindAt}, ${notes.isDone})
    SELECT ${people.id}, ${"2026-01-02T03:04:05+01:00"}, ${false} FROM ${people}
    WHERE ${people.id} = ${1}`;
  const { rows } = await db.sql`SELECT ${notes.remindAt}, ${notes.isDone} FROM ${notes}`;
  assertEquals(rows, [{ remindAt: "2026-01-02T02:04:05.000Z", isDone: false }]);
});

test("filters are conditions", async (db) => {
  const wanted = or(eq(people.name, "Ada"), and(gt(people.id, 2), eq(people.bossId, 1)));
  const { rows } = await db.sql`SELECT ${people.id} FROM ${people} WHERE ${wanted} ORDER BY id`;
  assertEquals(rows, [{ id: 1 }, { id: 3 }]);
  const none = await db.sql`SELECT id FROM ${people} WHERE ${inList(people.id, [])} AND ${all()}`;
  assertEquals(none.rows, []);
});

test("statements and fragments are parts of others, and run only by themselves", async (db) => {
  const bosses = db.sql`${people.bossId} IS NULL OR ${people.name} = ${"Cy"}`;
  const direction = sql`DESC`;
  const { rows } = await db.sql`
    SELECT ${people.name} FROM ${people} WHERE (${bosses}) AND ${people.id} < ${10}
    ORDER BY ${people.id} ${direction}`;
  assertEquals(rows, [{ name: "Cy" }, { name: "Ada" }]);
});

test("a statement runs once, however often it is awaited", async (db) => {
  const insert = db.sql`INSERT INTO ${people} (${people.id}, ${people.name})
    VALUES (${4}, ${"Fay"}) RETURNING id`;
  assertEquals(await insert, await insert);
  const { rows } = await db.sql`SELECT count(*) AS n FROM ${people}`;
  assertEquals(rows, [{ n: 4 }]);
});

test("lists follow IN, with and without parentheses, and may be empty", async (db) => {
  const ids = async (list: number[]) => {
    const bare = await db.sql`SELECT id FROM ${people} WHERE ${people.id} IN ${list} ORDER BY id`;
    const opened = await db.sql`SELECT id FROM ${people} WHERE ${people.id} IN (${list})
      ORDER BY id`;
    assertEquals(opened.rows, bare.rows);
    const others = await db.sql`SELECT id FROM ${people} WHERE ${people.id} NOT IN ${list}`;
    return [bare.rows.length, others.rows.length];
  };
  assertEquals(await ids([1, 3, 99]), [2, 1]);
  assertEquals(await ids([]), [0, 3]);
  const named = await db.sql`SELECT id FROM ${people}
    WHERE ${people.name} IN (${"Ada"}, ${"Bob"}) ORDER BY id`;
  assertEquals(named.rows, [{ id: 1 }, { id: 2 }]);
});

test("a moment means the same beside its column, whatever its precision and zone", async (db) => {
  await db.sql`INSERT INTO ${notes} (${notes.id}, ${notes.remindAt})
    VALUES (${1}, ${"2026-01-02T03:04:05.123456Z"})`;
  const at = async (condition: PromiseLike<unknown> & object) =>
    (await db.sql`SELECT id FROM ${notes} WHERE ${condition}`).rows.length;
  assertEquals(await at(db.sql`${notes.remindAt} = ${"2026-01-02T04:04:05.123456+01:00"}`), 1);
  assertEquals(await at(db.sql`${notes.remindAt} > ${"2026-01-02T03:04:05.123Z"}`), 1);
  assertEquals(await at(db.sql`${"2026-01-02T03:04:05.123Z"} < ${notes.remindAt}`), 1);
  assertEquals(await at(db.sql`${notes.remindAt} > ${new Date("2026-01-02T03:04:05Z")}`), 1);
  assertEquals(
    await at(
      db.sql`${notes.remindAt} BETWEEN ${"2026-01-02T03:04:05Z"} AND ${"2027-01-01T00:00:00Z"}`,
    ),
    1,
  );
  assertEquals(
    await at(db.sql`remind_at NOT BETWEEN ${"2026-01-02T03:04:05Z"} AND ${new Date()}`),
    0,
  );
  assertEquals(await at(db.sql`${notes.remindAt} IN (${["2026-01-02T03:04:05.123456Z"]})`), 1);
  assertEquals(
    await at(
      db.sql`coalesce(${notes.remindAt}, ${db.sql.value(notes.remindAt, "2030-01-01T00:00:00Z")})
        < ${new Date("2027-01-01")}`,
    ),
    1,
  );
});

test("a text near a column that is no text is an error, not another moment", async (db) => {
  await assertRejects(
    () =>
      db.sql`SELECT id FROM ${notes} WHERE coalesce(${notes.remindAt}, ${"2026-01-01"}) IS NULL`,
    Error,
    "db.sql.value(column, value)",
  );
  await assertRejects(
    () => db.sql`SELECT id FROM ${notes} WHERE max(remind_at, ${"x"}) IS NULL`,
    Error,
    'near "remindAt"',
  );
});

test("values of a wrong type are invalid, whatever the engine would make of them", async (db) => {
  const refused = async (statement: () => PromiseLike<unknown>) => {
    const error = await assertRejects(async () => await statement(), DatabaseError);
    assertEquals(error.kind, "invalid-value");
  };
  await refused(() => db.sql`SELECT id FROM ${people} WHERE ${people.id} = ${"one"}`);
  await refused(() => db.sql`SELECT id FROM ${notes} WHERE ${notes.isDone} = ${1}`);
  await refused(() => db.sql`UPDATE ${notes} SET ${notes.remindAt} = ${"tomorrow"}`);
  await refused(() => db.sql`UPDATE ${notes} SET ${notes.price} = ${"1.234"}`);
  await refused(() => db.sql`UPDATE ${notes} SET ${notes.title} = ${["a"]}`);
  await refused(() => db.sql`SELECT id FROM ${notes} WHERE ${notes.token} = ${"x"}`);
});

test("an enum's other text is refused where it is stored and matches nothing where compared", async (db) => {
  const tasks = table("tasks", {
    id: integer().primaryKey(),
    status: text({ enum: ["open", "done"] }).notNull().default("open"),
  });
  await db.createTables([tasks]);
  const error = await assertRejects(
    async () => await db.sql`INSERT INTO ${tasks} (${tasks.status}) VALUES (${"lost"})`,
    DatabaseError,
  );
  assertEquals(error.kind, "invalid-value");
  assertEquals((await db.sql`SELECT id FROM ${tasks} WHERE ${tasks.status} = ${"lost"}`).rows, []);
});

test("values beside no column are what their type says", async (db) => {
  const { rows } = await db.sql`
    SELECT ${1} AS whole, ${2n ** 60n} AS long, ${0.5} AS half, ${"it's ?"} AS word,
      ${true} AS yes, ${new Uint8Array([1, 255])} AS bytes, ${null} AS missing`;
  assertEquals(rows, [{
    whole: 1,
    long: 2n ** 60n,
    half: 0.5,
    word: "it's ?",
    yes: 1,
    bytes: "Af8=",
    missing: null,
  }]);
});

test("numbers of expressions are numbers, and a kind after AS gives any other form", async (db) => {
  await db.sql`INSERT INTO ${notes}
    (${notes.id}, ${notes.order}, ${notes.price}, ${notes.remindAt}, ${notes.isDone}) VALUES ${[
    [1, 1, "0.10", "2026-01-01T00:00:00Z", true],
    [2, 2, "0.20", "2026-02-01T00:00:00Z", false],
  ]}`;
  const { rows } = await db.sql`
    SELECT count(*) AS n, sum(${notes.order}) AS total, avg(${notes.order}) AS average,
      max(${notes.remindAt}) AS ${timestamp().as("latest")}, sum(${notes.price}) AS ${notes.price},
      count(${notes.isDone}) AS answered, count(*) > 1 AS ${boolean().as("isMany")}
    FROM ${notes}`;
  assertEquals(rows, [{
    n: 2,
    total: 3,
    average: 1.5,
    latest: "2026-02-01T00:00:00.000Z",
    price: "0.30",
    answered: 2,
    isMany: true,
  }]);
});

test("what a subquery names keeps its kind in the query around it", async (db) => {
  const at = "2026-01-01T00:00:00.000Z";
  await db.sql`INSERT INTO ${notes} (${notes.id}, ${notes.remindAt}, ${notes.isDone})
    VALUES (${1}, ${at}, ${true})`;
  const latest = timestamp().as("latest");
  const { rows } = await db.sql`
    WITH due AS (SELECT ${notes.remindAt} AS moment, ${notes.isDone} AS "wasDone",
      max(${notes.remindAt}) AS ${latest} FROM ${notes} GROUP BY ${notes.remindAt}, ${notes.isDone})
    SELECT moment, due."wasDone", ${latest}, latest AS again FROM due
    WHERE moment = ${at} AND ${latest} <= ${at}`;
  assertEquals(rows, [{ moment: at, wasDone: true, latest: at, again: at }]);
  const star = await db.sql`SELECT s.*, 1 AS one FROM
    (SELECT ${notes.remindAt} AS moment, ${notes.isDone} FROM ${notes}) AS s`;
  assertEquals(star.rows, [{ moment: at, isDone: true, one: 1 }]);
});

test("an expression that the engines show differently needs its kind", async (db) => {
  await assertRejects(
    () => db.sql`SELECT max(${notes.remindAt}) AS latest FROM ${notes}`,
    Error,
    'AS ${timestamp().as("latest")}',
  );
  await assertRejects(() => db.sql`SELECT count(*) FROM ${notes}`, Error, "write AS and a name");
});

test("constraint violations keep their kinds", async (db) => {
  const error = await assertRejects(
    async () =>
      await db.sql`INSERT INTO ${people} (${people.id}, ${people.name}) VALUES (${1}, ${"x"})`,
    DatabaseError,
  );
  assertEquals(error.kind, "unique");
  const missing = await assertRejects(
    async () => await db.sql`INSERT INTO ${people} (${people.name}) VALUES (${null})`,
    DatabaseError,
  );
  assertEquals(missing.kind, "not-null");
});

test("mistakes in the text are errors before anything is sent", async (db) => {
  const missing: { readonly id?: number } = {};
  const mistakes: readonly (readonly [() => PromiseLike<unknown>, string])[] = [
    [() => db.sql`SELECT 1 AS a; SELECT 2 AS b`, "several statements"],
    [() => db.sql`BEGIN`, "use transaction()"],
    [() => db.sql`SELECT id FROM ${people} WHERE name = '${"x"}'`, "is not closed"],
    [() => db.sql`SELECT id FROM ${people} WHERE id = ${5}1`, "value 2 touches other text"],
    [() => db.sql`SELECT id FROM ${people} WHERE id = 1${5}`, "touches other text"],
    [() => db.sql`SELECT id FROM no${people}`, "touches other text: SELECT id FROM no${…}"],
    [() => db.sql`SELECT id FROM ${people}x`, "touches other text"],
    [() => db.sql`SELECT id${people.name} FROM ${people}`, "touches other text"],
    [() => db.sql`SELECT ${5}e1`, "touches other text"],
    [() => db.sql`SELECT id FROM ${people} WHERE id = ${1}${2}`, "value 3 touches other text"],
    [() => db.sql`SELECT id FROM ${people} WHERE id = .${5}`, "touches other text"],
    [() => db.sql`SELECT id FROM ${people} WHERE id = ${5}.5`, "touches other text"],
    [() => db.sql`SELECT id FROM ${people} WHERE id = ${people.id}${5}`, "touches other text"],
    [() => db.sql`SELECT id AS "a"${people.name} FROM ${people}`, "touches other text"],
    [() => db.sql`SELECT id -- ${people.name}\n FROM ${people}`, "is not closed"],
    [() => db.sql`SELECT id FROM ${people} WHERE id = ?`, "interpolate the value"],
    [() => db.sql`SELECT id FROM ${people} WHERE id = $1`, "interpolate the value"],
    [() => db.sql`SELECT id FROM ${people} WHERE id = :id`, "interpolate the value"],
    // The types refuse undefined; code without types may give it.
    [() => db.sql`SELECT id FROM ${people} WHERE id = ${missing.id as number}`, "undefined"],
    [() => db.sql`SELECT id FROM ${people} WHERE lower(name) IN ${["x"]}`, "a list stands after"],
    [() => db.sql`SELECT id FROM ${people} WHERE ${people.id} IN ${1}`, "give a list"],
    [() => db.sql`SELECT id FROM ${people} WHERE ${people.bossId} IS ${null}`, "IS NULL"],
    [() => db.sql`SELECT id FROM ${notes} WHERE ${notes.tags} = ${["x"]}`, "no equality"],
    [() => db.sql`INSERT INTO ${people} VALUES (${1}, ${"x"}, ${2})`, "names of columns"],
    [() => db.sql`SELECT id FROM ${people} WHERE ${rsql`id==1`}`, "use eq()"],
  ];
  for (const [statement, message] of mistakes) {
    await assertRejects(async () => await statement(), Error, message);
  }
});

test("a document of a request is a value and never a condition", async (db) => {
  for (const document of [{ kind: "all" }, { kind: "and", terms: [] }, { declaration: {} }]) {
    await db.sql`DELETE FROM ${notes}`;
    await db.sql`INSERT INTO ${notes} (${notes.id}, ${notes.tags}) VALUES ${[[1, document]]}`;
    // Types know only documents of texts here.
    await db.sql`UPDATE ${notes} SET ${notes.tags} = ${document} WHERE ${notes.id} = ${1}`;
    const { rows } = await db.sql`SELECT ${notes.tags} FROM ${notes}`;
    assertEquals(rows, [{ tags: document }]);
  }
});

test("words in texts, quoted names and comments are no syntax", async (db) => {
  const { rows } = await db.sql`
    SELECT 'it''s; ? $1 FROM' AS "from; where", ${people.id} /* ; ' */ -- it's
    FROM ${people} WHERE ${people.id} = ${1};`;
  assertEquals(rows, [{ "from; where": "it's; ? $1 FROM", id: 1 }]);
});

test("a moment in the text is an error: SQLite would store another form of it", async (db) => {
  const mistakes: readonly (() => PromiseLike<unknown>)[] = [
    () => db.sql`SELECT id FROM ${notes} WHERE ${notes.remindAt} < '2026-01-01T00:00:00Z'`,
    () => db.sql`UPDATE ${notes} SET ${notes.remindAt} = '2026-01-01'`,
    () => db.sql`INSERT INTO ${notes} (${notes.id}, ${notes.remindAt}) VALUES (1, '2026-01-01')`,
    () => db.sql`UPDATE ${notes} SET ${notes.remindAt} = CURRENT_TIMESTAMP`,
  ];
  for (const mistake of mistakes) {
    await assertRejects(async () => await mistake(), Error, "interpolate");
  }
  await assertRejects(
    async () => await db.sql`SELECT '2026' AS ${timestamp().as("at")} FROM ${people}`,
    Error,
    "another form",
  );
});

test("decimals were stored with the digits that doubles add", async (db) => {
  await db.sql`INSERT INTO ${notes} (${notes.id}, ${notes.price}) VALUES (${1}, ${"0.10"})`;
  await assertRejects(
    async () => await db.sql`UPDATE ${notes} SET ${notes.price} = ${notes.price} + ${0.2}`,
    Error,
    'Cannot compute "price" without rounding: write round(…, 2)',
  );
  await db.sql`UPDATE ${notes} SET ${notes.title} = ${"x"},
    ${notes.price} = round(${notes.price} + ${0.2}, 2) WHERE ${notes.id} + ${1} = ${2}`;
  const { rows } = await db
    .sql`SELECT ${notes.price} FROM ${notes} WHERE ${notes.price} = ${"0.30"}`;
  assertEquals(rows, [{ price: "0.30" }]);
});

test("a whole number is an argument of functions, a limit and a factor", async (db) => {
  const { rows } = await db.sql`
    SELECT substr(${people.name}, ${2}, ${1}) AS letter, ${people.id} * ${2} AS double,
      ${people.id} * ${0.5} AS half FROM ${people} ORDER BY ${people.id} LIMIT ${1} OFFSET ${1}`;
  assertEquals(rows, [{ letter: "o", double: 4, half: 1 }]);
});
