/** Lone writes that share a transaction: each has the result or the error that it has alone. */
import { assert, assertEquals, assertRejects } from "@std/assert";
import { DatabaseError } from "../../src/db/database_error.ts";
import type { Driver, QueryResult } from "../../src/db/driver.ts";
import type { SqlValue, Statement } from "../../src/sql/fragment.ts";
import { testOnPostgresDriver as test } from "../support/postgres_tests.ts";
import { repeats } from "../support/repeats.ts";
import { runScript } from "../support/scratch.ts";

const tables = `
  CREATE TABLE parents (id int PRIMARY KEY);
  INSERT INTO parents VALUES (1);
  CREATE TABLE t (
    id int PRIMARY KEY,
    n int NOT NULL DEFAULT 0 CHECK (n >= 0),
    parent int REFERENCES parents,
    later int UNIQUE DEFERRABLE INITIALLY DEFERRED
  );`;

test("concurrent writes share a transaction, and each has its own row", async (open) => {
  const driver = await open();
  await runScript(driver, tables);
  const outcomes = await together(
    driver,
    range(40).map((id) => insert("id", id, " RETURNING id, xmin::text")),
  );
  const rows = outcomes.map(({ rows }) => rows?.[0] ?? []);
  assertEquals(rows.map(([id]) => id), range(40).map(String));
  // The first two found nothing that runs, so they did not wait for others.
  assertEquals(new Set(rows.map(([, transaction]) => transaction)).size, 3);
});

for (
  const [kind, column, value] of [
    ["unique", "id", 1_000],
    ["check", "n", -1],
    ["foreign-key", "parent", 2],
    ["invalid-value", "n", "many"],
    ["unique", "later", 7],
    ["not-null", "n", null],
  ] as const
) {
  test(`one of 60 writes breaks ${kind} on ${column}: the others are kept`, async (open) => {
    const driver = await open();
    await runScript(driver, tables);
    await query(driver, "INSERT INTO t (id, later) VALUES (1000, 7)");
    const bad = column === "id" ? insert("id", value) : {
      text: `INSERT INTO t (id, ${column}) VALUES ($1, $2)`,
      values: [500, value],
    };
    const good = range(59).map((id) => insert("id", id));
    const outcomes = await together(driver, [...good.slice(0, 30), bad, ...good.slice(30)]);
    const errors = outcomes.flatMap(({ error }, index) => error === undefined ? [] : [index]);
    assertEquals(errors, [30]);
    assertEquals(outcomes[30]?.error, kind);
    assertEquals((await query(driver, "SELECT count(*) FROM t")).rows, [["60"]]);
  });
}

test("writes that satisfy a deferred constraint only together fail as they fail alone", async (open) => {
  const driver = await open();
  await runScript(driver, tables);
  await query(driver, "INSERT INTO t (id, later) VALUES (1001, 1), (1002, 2)");
  const swap = [[1001, 2], [1002, 1]].map(([id = 0, later = 0]) => ({
    text: "UPDATE t SET later = $2 WHERE id = $1",
    values: [id, later],
  }));
  const good = range(20).map((id) => insert("id", id));
  const outcomes = await together(driver, [...good.slice(0, 10), ...swap, ...good.slice(10)]);
  const errors = outcomes.flatMap(({ error }, index) => error === undefined ? [] : [index, error]);
  assertEquals(errors, [10, "unique", 11, "unique"]);
});

test("each of many updates of one row sees the one before", async (open) => {
  const driver = await open();
  await runScript(driver, tables);
  await query(driver, "INSERT INTO t (id) VALUES (1)");
  const outcomes = await together(
    driver,
    range(50).map(() => ({
      text: "UPDATE t SET n = n + 1 WHERE id = 1 RETURNING n",
      values: [],
    })),
  );
  const seen = outcomes.map(({ rows }) => Number(rows?.[0]?.[0]));
  assertEquals(seen.toSorted((one, other) => one - other), range(50));
});

test("a locked row holds up only the write of that row", async (open) => {
  const driver = await open({ waitLimitMs: 60_000 });
  const other = await open({ maxConnections: 1 });
  await runScript(driver, tables);
  await query(driver, "INSERT INTO t (id) VALUES (1)");
  await other.transaction(async (connection) => {
    await connection.query({ text: "SELECT FROM t WHERE id = 1 FOR UPDATE", values: [] });
    let isUpdated = false;
    const update = { text: "UPDATE t SET n = 1 WHERE id = 1", values: [] };
    const statements = range(12).map((n) => n === 6 ? update : insert("id", 100 + n));
    const running = statements.map((statement) => writeAlone(driver, statement));
    void running[5]?.then(() => isUpdated = true);
    await Promise.all(running.filter((_, index) => index !== 5));
    assert(!isUpdated);
    assertEquals((await query(driver, "SELECT count(*) FROM t")).rows, [["12"]]);
    // Later writes do not wait either.
    await Promise.all(range(5).map((n) => writeAlone(driver, insert("id", 200 + n))));
    assert(!isUpdated);
  });
});

test("writes that come after a slow one do not wait for it", async (open) => {
  const driver = await open({ maxConnections: 4, statementTimeoutMs: 60_000 });
  await runScript(driver, tables);
  const slow = { text: "INSERT INTO t (id) SELECT 1 FROM pg_sleep(3)", values: [] };
  const first = range(3).map((n) => writeAlone(driver, insert("id", 100 + n)));
  let isOver = false;
  const slowWrite = writeAlone(driver, slow).then(() => isOver = true);
  // The slow write shares a transaction with the third one.
  await Promise.all(first.slice(0, 2));
  await writeAlone(driver, insert("id", 300));
  assert(!isOver);
  await Promise.all([...first, slowWrite]);
});

test("the outcome of every write is unknown if the connection is lost", async (open) => {
  const driver = await open({ maxConnections: 4 });
  const other = await open({ maxConnections: 1 });
  await runScript(driver, tables);
  const slow = { text: "INSERT INTO t (id) SELECT 900 FROM pg_sleep(20)", values: [] };
  let notified = 0;
  driver.onCommit(() => notified++);
  const outcomes = range(20).map((n) =>
    writeAlone(driver, n < 3 ? insert("id", n) : n === 10 ? slow : insert("id", 100 + n)).then(
      () => null,
      (error) => error.kind,
    )
  );
  await untilTrue(async () => (await query(other, sleepers)).rows.length > 0);
  const before = notified;
  await query(other, `SELECT pg_terminate_backend(pid) FROM (${sleepers}) AS s`);
  const kinds = await Promise.all(outcomes);
  assertEquals(kinds.slice(0, 2), [null, null]);
  assertEquals(new Set(kinds.slice(2)), new Set(["unknown-outcome"]));
  assert(notified > before);
  // None of them was run a second time.
  assertEquals((await query(driver, "SELECT id FROM t ORDER BY id")).rows, [["1"], ["2"]]);
  await writeAlone(driver, insert("id", 100));
});

test("a table that is altered makes no write happen twice", async (open) => {
  const driver = await open();
  const other = await open({ maxConnections: 1 });
  await runScript(driver, tables);
  for (let round = 0; round < 6; round++) {
    const add = (n: number) => insert("id", 1_000 * round + n, " RETURNING *");
    const before = await together(driver, range(30).map(add));
    assertEquals(before.flatMap(({ error }) => error ?? []), []);
    await query(other, `ALTER TABLE t ALTER COLUMN n TYPE ${round % 2 === 0 ? "bigint" : "int"}`);
    const after = await together(driver, range(30).map((n) => add(100 + n)));
    assertEquals(after.flatMap(({ error }) => error ?? []), []);
  }
  assertEquals((await query(driver, "SELECT count(*) FROM t")).rows, [["360"]]);
});

test("a slow write does not add its time to the writes of its transaction", async (open) => {
  const driver = await open();
  await runScript(driver, tables);
  const slow = (n: number): Statement => ({
    text: "INSERT INTO t (id) SELECT $1::int FROM pg_sleep(3)",
    values: [500 + n],
  });
  let slowOver = 0;
  const slowWrites = range(10).map((n) => writeAlone(driver, slow(n)).then(() => slowOver++));
  const others = range(10).map((n) => writeAlone(driver, insert("id", n)));
  await Promise.all(others);
  // The first two run alone, and the transaction of the other ones ends after 200 ms.
  assert(slowOver <= 2, `${slowOver} slow writes were over`);
  await Promise.all(slowWrites);
});

test("a shared write inside of a transaction throws at once", async (open) => {
  const driver = await open();
  await runScript(driver, tables);
  await driver.transaction(async () => {
    await assertRejects(
      async () => await writeAlone(driver, insert("id", 1)),
      Error,
      "inside its own transaction",
    );
  });
});

test("random writes together have the results that they have alone", async (open) => {
  const driver = await open();
  const twins = ["together", "alone"] as const;
  for (const schema of twins) {
    await runScript(driver, `CREATE SCHEMA "${schema}"`);
    for (const text of tables.split(";").filter((text) => text.trim() !== "")) {
      const named = text.replace(/(TABLE|INTO|REFERENCES) (\w+)/g, `$1 "${schema}".$2`);
      await query(driver, named);
    }
  }
  for (let batch = 0; batch < repeats(120); batch++) {
    // Each write has a key of its own, so that its result does not depend on the order.
    const writes = range(2 + random(30)).map((key) => randomWrite(batch % 3 * 100 + key));
    const shared = await together(driver, writes.map((write) => write("together")));
    const separate = [];
    for (const write of writes) {
      const { text, values } = write("alone");
      separate.push(await outcomeOf(driver.query({ text, values })));
    }
    assertEquals(shared, separate);
  }
  const [shared, separate] = await Promise.all(
    twins.map((schema) => query(driver, `SELECT * FROM "${schema}".t ORDER BY id`)),
  );
  assertEquals(shared?.rows, separate?.rows);
});

/** Returns a write of one row, which may break a constraint, for a schema. */
function randomWrite(id: number): (schema: string) => Statement {
  // About one in forty breaks a constraint. After many failures, writes would run alone.
  const n = random(80) - 1;
  const parent = random(80) === 0 ? 2 : 1;
  const later = random(30) === 0 ? id : null;
  const which = random(5);
  return (schema) => {
    const table = `"${schema}".t`;
    switch (which) {
      case 0:
        return { text: `DELETE FROM ${table} WHERE id = $1 RETURNING n`, values: [id] };
      case 1:
        return {
          text: `UPDATE ${table} SET n = $2, parent = $3 WHERE id = $1 RETURNING *`,
          values: [id, n, parent],
        };
      default:
        return {
          text: `INSERT INTO ${table} VALUES ($1, $2, $3, $4) RETURNING *`,
          values: [id, n, parent, later],
        };
    }
  };
}

function random(limit: number): number {
  return Math.floor(Math.random() * limit);
}

interface Outcome {
  readonly rows?: QueryResult["rows"];
  readonly changed?: number;
  readonly error?: string;
}

/** Runs writes at the same time. */
function together(driver: Driver, statements: readonly Statement[]): Promise<readonly Outcome[]> {
  return Promise.all(statements.map((statement) => outcomeOf(writeAlone(driver, statement))));
}

async function outcomeOf(running: Promise<QueryResult> | QueryResult): Promise<Outcome> {
  try {
    const { rows, changed } = await running;
    return { rows, changed };
  } catch (error) {
    if (!(error instanceof DatabaseError)) throw error;
    return { error: error.kind };
  }
}

async function writeAlone(driver: Driver, statement: Statement): Promise<QueryResult> {
  return await (driver.loneWrites ?? driver).query(statement);
}

function insert(column: string, value: SqlValue, returning = ""): Statement {
  return { text: `INSERT INTO t (${column}) VALUES ($1)${returning}`, values: [value] };
}

async function query(driver: Driver, text: string): Promise<QueryResult> {
  return await driver.query({ text, values: [] });
}

/** Returns the numbers from 1. */
function range(count: number): readonly number[] {
  return Array.from({ length: count }, (_, index) => index + 1);
}

const sleepers = `SELECT pid FROM pg_stat_activity
  WHERE wait_event = 'PgSleep' AND datname = current_database()`;

async function untilTrue(condition: () => Promise<boolean>): Promise<void> {
  while (!await condition()) await new Promise((resolve) => setTimeout(resolve, 10));
}
