import { assert, assertEquals, assertRejects, assertStrictEquals } from "@std/assert";
import { DatabaseError, type DatabaseErrorKind } from "../../src/db/database_error.ts";
import type { Connection } from "../../src/db/driver.ts";
import type { Dialect } from "../../src/sql/dialect.ts";
import type { SqlValue } from "../../src/sql/fragment.ts";
import type { Engine } from "../support/engines.ts";
import { gate, run, runScript, statement } from "../support/scratch.ts";
import { testUnless } from "../support/skip.ts";
import type { Database } from "../../src/db/database.ts";

/** What an engine lacks, each with its reason. */
export interface DriverLacks {
  /** It has one connection, so that a read waits for an open transaction. */
  readonly readsBesideTransaction?: string;
}

/** What every driver promises, as tests over one engine. */
export function exercise(engine: Engine, lacks: DriverLacks = {}): void {
  function test(
    promise: string,
    work: (db: Database) => Promise<void>,
    lack?: string,
  ): void {
    testUnless(engine.ignore ?? lack ?? null, `${engine.name} driver: ${promise}`, async () => {
      const db = await engine.open();
      try {
        await work(db);
      } finally {
        await db.close();
      }
    });
  }

  test("values of every type are bound and read unchanged", valuesCross);
  test("an integer beyond 2^53 keeps its digits, read and returned", integersKeepDigits);
  test("long texts and bytes come back as they were", longValuesCross);
  test("a NUL in a text is kept or refused, never cut", nulIsNotCut);
  test("it counts the rows that a statement changed", changesAreCounted);
  test("a statement that failed rejects with the kind of its error", errorsAreMapped);
  test("a bound value refused by its syntax is an invalid value, a wrong statement is not", (db) =>
    db.dialect.engine === "postgres" ? syntaxIsToldApart(db) : Promise.resolve());
  test("rows of any number of bytes are read into the memory of the process", (db) =>
    db.dialect.engine === "postgres" ? bytesAreLimited(db) : Promise.resolve());
  test("it forgets statements rather than keep them all", statementsAreForgotten);
  test("a transaction commits when its work ends", async (db) => {
    await createCounter(db);
    const answer = await db.driver.transaction(async (connection) => {
      await connection.query({ text: "UPDATE counter SET n = 7", values: [] });
      return "done";
    });
    assertEquals(answer, "done");
    assertEquals(await counter(db), 7);
  });
  test("a transaction rolls back when its work throws, and passes the error on", async (db) => {
    await createCounter(db);
    const failure = new Error("no");
    const thrown = await assertRejects(() =>
      db.driver.transaction(async (connection) => {
        await connection.query({ text: "UPDATE counter SET n = 7", values: [] });
        throw failure;
      })
    );
    assertStrictEquals(thrown, failure);
    assertEquals(await counter(db), 0);
  });
  test("parallel transactions all take effect", async (db) => {
    await createCounter(db);
    await Promise.all(Array.from({ length: 25 }, () =>
      db.driver.transaction(async (connection) => {
        await connection.query({ text: "UPDATE counter SET n = n + 1", values: [] });
        await Promise.resolve();
        await connection.query({ text: "UPDATE counter SET n = n + 1", values: [] });
      })));
    assertEquals(await counter(db), 50);
  });
  test("its use inside its own transaction fails at once", nestedUseFails);
  test("work that outlives its transaction may use it again", async (db) => {
    const end = gate();
    let late: Promise<unknown> = Promise.resolve();
    await db.driver.transaction(() => {
      late = end.passed.then(() => db.driver.query({ text: "SELECT 1", values: [] }));
      return Promise.resolve();
    });
    end.open();
    await late;
  });
  test("the connection of a transaction that has ended refuses", async (db) => {
    const connection = await db.driver.transaction((connection) => Promise.resolve(connection));
    await assertRejects(
      async () => await connection.query({ text: "SELECT 1", values: [] }),
      Error,
      "transaction has ended",
    );
  });
  test("an error inside a transaction leaves the driver usable", errorInsideIsSurvived);
  test("an error that the work swallows never loses its other writes in silence", swallowedErrors);
  test("a write beside a transaction is no part of it", writesStandAlone);
  test("a reader sees committed rows only", readsCommitted, lacks.readsBesideTransaction);
  test("it closes twice, and refuses afterwards", async (db) => {
    await db.close();
    await db.close();
    await fails(db.driver.query({ text: "SELECT 1", values: [] }), "unavailable");
    await fails(db.driver.transaction(() => Promise.resolve()), "unavailable");
  });
  test("it closes after the transaction that is open", async (db) => {
    await createCounter(db);
    const [inside, end] = [gate(), gate()];
    const transaction = db.driver.transaction(async (connection) => {
      await connection.query({ text: "UPDATE counter SET n = 1", values: [] });
      inside.open();
      await end.passed;
    });
    await inside.passed;
    const closing = db.driver.close();
    end.open();
    await transaction;
    await closing;
  });
}

/** A typed NULL or value as SQL, what is bound, and what is read. */
const crossings: Readonly<
  Record<Dialect["engine"], readonly (readonly [string, SqlValue, SqlValue])[]>
> = {
  sqlite: [
    ["?", null, null],
    ["?", 0, 0],
    ["?", -1, -1],
    ["?", 1.5, 1.5],
    ["?", 1e300, 1e300],
    ["typeof(?)", 1, "integer"],
    ["typeof(?)", 1.5, "real"],
    ["? / 2", 3, 1],
    ["?", 9007199254740991, 9007199254740991],
    ["?", 9007199254740993n, 9007199254740993n],
    ["?", -9223372036854775808n, -9223372036854775808n],
    ["?", 5n, 5],
    ["?", "", ""],
    ["?", "é 😀 \u0301 'quoted' \"x\"", "é 😀 \u0301 'quoted' \"x\""],
    ["?", Uint8Array.of(0, 1, 255), Uint8Array.of(0, 1, 255)],
    ["?", new Uint8Array(), new Uint8Array()],
    ["service_fold(?)", "ÀΣ", "àσ"],
    ["service_fold(?)", null, null],
  ],
  postgres: [
    ["?::text", null, null],
    ["?::int4", -1, "-1"],
    ["?::int8", 9007199254740993n, "9007199254740993"],
    ["?::int8", "-9223372036854775808", "-9223372036854775808"],
    ["?::float8", 0.1, "0.1"],
    ["?::float8", 1e300, "1e+300"],
    ["?::numeric", "12345678901234567890.1200", "12345678901234567890.1200"],
    ["?::bool", "true", "t"],
    ["?::bool", "f", "f"],
    ["?::text", "", ""],
    ["?::text", "é 😀 \u0301 'quoted' \"x\"", "é 😀 \u0301 'quoted' \"x\""],
    ["?::bytea", Uint8Array.of(0, 1, 255), "\\x0001ff"],
    ["?::bytea", new Uint8Array(), "\\x"],
    ["?::timestamptz", "2024-02-29 12:00:00.123456+02", "2024-02-29 10:00:00.123456+00"],
    ["?::timestamp", "2024-02-29 12:00:00.000001", "2024-02-29 12:00:00.000001"],
    ["?::date", "0044-03-15", "0044-03-15"],
    ["?::time", "12:00:00", "12:00:00"],
    ["?::interval", "36 hours", "36:00:00"],
    ["?::uuid", "A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"],
    ["?::jsonb", '{"n": 9007199254740993}', '{"n": 9007199254740993}'],
    ["?::json", '{"a":1, "a":2}', '{"a":1, "a":2}'],
    ["?::int4[]", "{1,2}", "{1,2}"],
    ["?::text[]", '{"a,b",NULL}', '{"a,b",NULL}'],
  ],
};

async function valuesCross(db: Database): Promise<void> {
  for (const [expression, bound, read] of crossings[db.dialect.engine]) {
    const { rows } = await run(db, `SELECT ${expression}`, bound);
    assertEquals(rows[0]?.[0], read, expression);
  }
}

async function integersKeepDigits(db: Database): Promise<void> {
  const type = db.dialect.engine === "sqlite" ? "INTEGER" : "int8";
  await run(db, `CREATE TABLE numbers (n ${type})`);
  const returned = await run(db, "INSERT INTO numbers VALUES (?) RETURNING n", 9007199254740993n);
  assertEquals(String(returned.rows[0]?.[0]), "9007199254740993");
  await run(db, "INSERT INTO numbers VALUES (1)");
  for (let time = 0; time < 2; time++) {
    const { rows } = await run(db, "SELECT n FROM numbers ORDER BY n");
    assertEquals(rows.map(([n]) => String(n)), ["1", "9007199254740993"]);
  }
  const again = await run(db, "UPDATE numbers SET n = n + 1 RETURNING n");
  assertEquals(again.rows.map(([n]) => String(n)).sort(), ["2", "9007199254740994"]);
}

async function longValuesCross(db: Database): Promise<void> {
  const bytesType = db.dialect.engine === "sqlite" ? "BLOB" : "bytea";
  await run(db, `CREATE TABLE long (t text, b ${bytesType})`);
  const text = "häufig 😀 ".repeat(100_000);
  const bytes = Uint8Array.from({ length: 500_000 }, (_, index) => index % 256);
  await run(db, "INSERT INTO long VALUES (?, ?)", text, bytes);
  const [row] = (await run(db, "SELECT t, b FROM long")).rows;
  assertStrictEquals(row?.[0] === text, true);
  const expected = db.dialect.engine === "sqlite" ? bytes : `\\x${bytes.toHex()}`;
  assertEquals(row?.[1], expected);
}

async function nulIsNotCut(db: Database): Promise<void> {
  try {
    const { rows } = await run(db, `SELECT ${textOperand(db)}`, "a\0b");
    assertEquals(rows[0]?.[0], "a\0b");
  } catch (error) {
    if (!(error instanceof DatabaseError)) throw error;
    assertEquals(error.kind, "invalid-value");
  }
  assertEquals((await run(db, `SELECT ${textOperand(db)}`, "ab")).rows[0]?.[0], "ab");
}

/** The bytes of several statements of one request count together; cells count in UTF-8. */
async function bytesAreLimited(db: Database): Promise<void> {
  const { signal } = new AbortController();
  const reads = () =>
    db.driver.reads({ identity: "a", signal, maxBytes: 20_000, timeoutMs: 5_000 });
  const read = (connection: Connection, cell: string, times: number) =>
    connection.query(
      statement(db.dialect, `SELECT repeat(?, CAST(${times} AS integer))`, cell),
    );
  const first = reads();
  assertEquals(String((await read(first, "a", 15_000)).rows[0]?.[0]).length, 15_000);
  assertEquals((await read(first, "b", 5_000)).rows.length, 1);
  await fails(read(first, "c", 1), "too-large");
  await fails(read(reads(), "é", 10_001), "too-large");
  assertEquals((await read(reads(), "é", 10_000)).rows.length, 1);
  assertEquals((await run(db, `SELECT repeat(?, 30000)`, "d")).rows.length, 1);
}

function textOperand(db: Database): string {
  return db.dialect.engine === "sqlite" ? "?" : "?::text";
}

async function changesAreCounted(db: Database): Promise<void> {
  const changed = async (text: string) => (await run(db, text)).changed;
  assertEquals(await changed("CREATE TABLE t (n integer)"), 0);
  assertEquals(await changed("INSERT INTO t VALUES (1), (2), (3)"), 3);
  assertEquals(await changed("CREATE TABLE t2 (n integer)"), 0);
  assertEquals(await changed("SELECT * FROM t"), 0);
  assertEquals(await changed("UPDATE t SET n = n + 1 WHERE n > 1"), 2);
  assertEquals(await changed("UPDATE t SET n = 0 WHERE n > 100"), 0);
  assertEquals(await changed("DELETE FROM t WHERE n = 1 RETURNING n"), 1);
  assertEquals(await changed("WITH two(n) AS (SELECT 2) DELETE FROM t WHERE n > 2"), 2);
}

const parentAndChild = `
CREATE TABLE parent (id integer PRIMARY KEY, code varchar(5) UNIQUE);
CREATE TABLE child (
  id integer PRIMARY KEY,
  parent integer NOT NULL REFERENCES parent (id),
  n integer CHECK (n > 0)
);
INSERT INTO parent VALUES (1, 'a');
INSERT INTO child VALUES (1, 1, 1);
`;

async function errorsAreMapped(db: Database): Promise<void> {
  await runScript(db.driver, parentAndChild);
  const cases: readonly (readonly [string, DatabaseErrorKind])[] = [
    ["INSERT INTO parent VALUES (1, 'b')", "unique"],
    ["INSERT INTO parent VALUES (2, 'a')", "unique"],
    ["INSERT INTO child VALUES (2, 77, 1)", "foreign-key"],
    ["DELETE FROM parent", "foreign-key"],
    ["INSERT INTO child (id) VALUES (3)", "not-null"],
    ["INSERT INTO child VALUES (4, 1, 0)", "check"],
    ["INSERT INTO parent VALUES ('x', 'c')", "invalid-value"],
    ["SELEC 1", "other"],
    ["SELECT * FROM absent", "other"],
  ];
  for (const [text, kind] of cases) {
    await fails(db.driver.query({ text, values: [] }), kind, text);
  }
  assertEquals((await run(db, "SELECT * FROM parent")).rows.length, 1);
}

/** SQLite has no type whose values have a syntax of their own. */
async function syntaxIsToldApart(db: Database): Promise<void> {
  const cases: readonly (readonly [string, string, DatabaseErrorKind])[] = [
    ["SELECT ?::tsvector", "\\", "invalid-value"],
    ["SELECT ?::tsquery", "a &", "invalid-value"],
    ["SELECT ?::regclass", "nowhere", "invalid-value"],
    ["SELECT ?::text::regtype", "no_type", "invalid-value"],
    ["SELECT ?::text::tsquery", "a &", "invalid-value"],
    ["SELECT ?::jsonpath", "$.", "invalid-value"],
    ["SELEC ?::text", "a", "other"],
    ["SELECT ?::text FROM absent", "a", "other"],
    ["SELECT absent, ?::text", "a", "other"],
  ];
  for (const [text, value, kind] of cases) {
    await fails(run(db, text, value), kind, text);
    const inside = db.driver.transaction((connection) =>
      connection.query(statement(db.dialect, text, value))
    );
    await fails(inside, kind, text);
  }
}

async function statementsAreForgotten(db: Database): Promise<void> {
  for (let n = 0; n < 700; n++) {
    const { rows } = await run(db, `SELECT ${textOperand(db)} AS column_${n}`, "x");
    assertEquals(rows, [["x"]]);
  }
  const { rows } = await run(db, `SELECT ${textOperand(db)} AS column_0`, "y");
  assertEquals(rows, [["y"]]);
}

async function nestedUseFails(db: Database): Promise<void> {
  await createCounter(db);
  await db.driver.transaction(async (connection) => {
    await connection.query({ text: "UPDATE counter SET n = 1", values: [] });
    const read = async () => void await db.driver.query({ text: "SELECT 1", values: [] });
    const begin = () => db.driver.transaction(() => Promise.resolve());
    for (const use of [read, begin]) {
      await assertRejects(use, Error, "inside its own transaction");
    }
    await connection.query({ text: "UPDATE counter SET n = n + 1", values: [] });
  });
  assertEquals(await counter(db), 2);
}

async function errorInsideIsSurvived(db: Database): Promise<void> {
  await runScript(db.driver, parentAndChild);
  const work = db.driver.transaction(async (connection) => {
    await connection.query({ text: "INSERT INTO parent VALUES (5, 'z')", values: [] });
    await connection.query({ text: "INSERT INTO parent VALUES (1, 'b')", values: [] });
  });
  await fails(work, "unique");
  await run(db, "INSERT INTO parent VALUES (6, 'y')");
  const { rows } = await run(db, "SELECT id FROM parent ORDER BY id");
  assertEquals(rows.map(([id]) => Number(id)), [1, 6]);
}

async function swallowedErrors(db: Database): Promise<void> {
  await runScript(db.driver, parentAndChild);
  let committed = true;
  try {
    await db.driver.transaction(async (connection) => {
      await connection.query({ text: "INSERT INTO parent VALUES (5, 'z')", values: [] });
      const failing = connection.query({ text: "INSERT INTO parent VALUES (1, 'b')", values: [] });
      await fails(failing, "unique");
    });
  } catch (error) {
    // Postgres commits nothing after an error, and must not pretend to.
    assert(error instanceof DatabaseError && error.kind === "unique");
    committed = false;
  }
  const { rows } = await run(db, "SELECT id FROM parent WHERE id = 5");
  assertEquals(rows.length, committed ? 1 : 0);
}

async function writesStandAlone(db: Database): Promise<void> {
  await run(db, "CREATE TABLE t (n integer)");
  const [inside, end] = [gate(), gate()];
  const transaction = db.driver.transaction(async (connection) => {
    await connection.query({ text: "INSERT INTO t VALUES (1)", values: [] });
    inside.open();
    await end.passed;
    throw new Error("rolled back");
  });
  await inside.passed;
  const writes = [2, 3, 4].map((n) => run(db, "INSERT INTO t VALUES (?)", n));
  end.open();
  await assertRejects(() => transaction, Error, "rolled back");
  await Promise.all(writes);
  const { rows } = await run(db, "SELECT n FROM t ORDER BY n");
  assertEquals(rows.map(([n]) => Number(n)), [2, 3, 4]);
}

async function readsCommitted(db: Database): Promise<void> {
  await createCounter(db);
  const [inside, end] = [gate(), gate()];
  const transaction = db.driver.transaction(async (connection) => {
    const update = statement(db.dialect, "UPDATE counter SET n = ?", 9);
    await connection.query(update);
    assertEquals(Number((await connection.query(readCounter)).rows[0]?.[0]), 9);
    inside.open();
    await end.passed;
  });
  await inside.passed;
  assertEquals(await counter(db), 0);
  end.open();
  await transaction;
  assertEquals(await counter(db), 9);
}

const readCounter = { text: "SELECT n FROM counter", values: [] };

function createCounter(db: Database): Promise<void> {
  return runScript(db.driver, "CREATE TABLE counter (n integer);\nINSERT INTO counter VALUES (0);");
}

async function counter(db: Database): Promise<number> {
  return Number((await db.driver.query(readCounter)).rows[0]?.[0]);
}

/** `work` fails with a {@link DatabaseError} of that kind. */
export async function fails(
  work: unknown,
  kind: DatabaseErrorKind,
  message?: string,
): Promise<void> {
  const error = await assertRejects(async () => await work, DatabaseError, undefined);
  assertEquals(error.kind, kind, message);
}
