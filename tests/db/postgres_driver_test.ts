import { assert, assertEquals, assertMatch, assertRejects } from "@std/assert";
import { DatabaseError } from "../../src/db/database_error.ts";
import type { Driver } from "../../src/db/driver.ts";
import { openPostgres } from "../../src/engines/postgres/driver/postgres_js_driver.ts";
import type { Observation } from "../../src/runtime/runtime.ts";
import { fails } from "../conformance/driver.ts";
import { testOnPostgresDriver as test } from "../support/postgres_tests.ts";
import { gate, runScript } from "../support/scratch.ts";

test("a request without a free connection is refused after the deadline", async (open) => {
  const driver = await open({ maxConnections: 2, waitLimitMs: 500 });
  const [end, both] = [gate(), gate()];
  let running = 0;
  const holders = [1, 2].map(() =>
    driver.transaction(() => {
      if (++running === 2) both.open();
      return end.passed;
    })
  );
  await both.passed;
  await fails(query(driver, "SELECT 1"), "unavailable");
  await fails(driver.transaction(() => Promise.resolve()), "unavailable");
  end.open();
  await Promise.all(holders);
  assertEquals((await query(driver, "SELECT 1")).rows, [["1"]]);
});

test("a lost connection fails its transaction, and nothing more", async (open) => {
  const driver = await open({ maxConnections: 1 });
  const other = await open({ maxConnections: 1 });
  await query(driver, "CREATE TABLE t (n int)");
  const work = driver.transaction(async (connection) => {
    await connection.query({ text: "INSERT INTO t VALUES (1)", values: [] });
    await endConnectionsButOwn(other);
    await fails(connection.query({ text: "INSERT INTO t VALUES (2)", values: [] }), "unavailable");
    // On the connection that the library has opened again, this would be committed by itself.
    await fails(connection.query({ text: "INSERT INTO t VALUES (3)", values: [] }), "unavailable");
  });
  await fails(work, "unavailable");
  assertEquals((await query(driver, "SELECT n FROM t")).rows, []);
});

test("a connection lost between two transactions comes back unnoticed", async (open) => {
  const driver = await open({ maxConnections: 2 });
  const other = await open({ maxConnections: 1 });
  await query(driver, "SELECT 1");
  await endConnectionsButOwn(other);
  await untilClosed();
  assertEquals((await query(driver, "SELECT 2")).rows, [["2"]]);
});

test("a connection lost during the commit leaves the outcome unknown", async (open) => {
  const driver = await open({ maxConnections: 1 });
  const other = await open({ maxConnections: 1 });
  await runScript(driver, slowCommit.replaceAll(";;", ";\n"));
  const work = driver.transaction((connection) =>
    connection.query({ text: "INSERT INTO t VALUES (1)", values: [] })
  );
  const outcome = fails(work, "unknown-outcome");
  await untilTrue(async () => {
    const { rows } = await query(other, sleepingCommits);
    return rows.length > 0;
  });
  await endConnectionsButOwn(other);
  await outcome;
});

test("a lone write whose connection is lost leaves the outcome unknown", async (open) => {
  const driver = await open({ maxConnections: 1 });
  const other = await open({ maxConnections: 1 });
  const text = "WITH slow AS (SELECT pg_sleep(5)) SELECT * FROM slow";
  for (const [sent, kind] of [[text, "unknown-outcome"], ["SELECT pg_sleep(5)", "unavailable"]]) {
    assert(sent !== undefined);
    const outcome = assertRejects(() => query(driver, sent), DatabaseError);
    await untilTrue(async () => (await query(other, sleepers)).rows.length > 0);
    await endConnectionsButOwn(other);
    assertEquals((await outcome).kind, kind);
  }
});

test("statements of a transaction that were not waited for end before it", async (open) => {
  const driver = await open({ maxConnections: 1 });
  const other = await open({ maxConnections: 1 });
  await query(driver, "CREATE TABLE t (n int)");
  await driver.transaction((connection) => {
    for (const n of [1, 2, 3]) {
      connection.query({ text: "INSERT INTO t VALUES ($1)", values: [n] });
    }
    return Promise.resolve();
  });
  assertEquals((await query(driver, "SELECT count(*) FROM t")).rows, [["3"]]);
  const lost = driver.transaction(async (connection) => {
    const sent = [4, 5, 6].map((n) => {
      const text = "INSERT INTO t SELECT $1::int FROM pg_sleep(2)";
      return fails(connection.query({ text, values: [n] }), "unavailable");
    });
    await untilTrue(async () => (await query(other, sleepers)).rows.length > 0);
    await endConnectionsButOwn(other);
    await Promise.all(sent);
  });
  await fails(lost, "unavailable");
  assertEquals((await query(driver, "SELECT count(*) FROM t")).rows, [["3"]]);
});

test("a statement that runs too long is ended by the server", async (open) => {
  const driver = await open({ statementTimeoutMs: 300 });
  await fails(query(driver, "SELECT pg_sleep(5)"), "timeout");
});

test("serialisation failures and deadlocks may be tried again", async (open) => {
  const driver = await open();
  await query(driver, "CREATE TABLE t AS SELECT n FROM generate_series(1, 2) n");
  const [first, second] = [gate(), gate()];
  const update = (mine: number, then: number, reached: () => void, wait: Promise<void>) =>
    driver.transaction(async (connection) => {
      await connection.query({ text: "UPDATE t SET n = n WHERE n = $1", values: [mine] });
      reached();
      await wait;
      await connection.query({ text: "UPDATE t SET n = n WHERE n = $1", values: [then] });
    });
  const outcomes = await Promise.allSettled([
    update(1, 2, first.open, second.passed),
    update(2, 1, second.open, first.passed),
  ]);
  const errors = outcomes.flatMap((each) => each.status === "rejected" ? [each.reason] : []);
  assertEquals(errors.map((error) => error.kind), ["retryable"]);
});

test("a pooler's connections prepare nothing", async (open) => {
  const driver = await open({ maxConnections: 1 }, "?prepare=false");
  await driver.query({ text: "SELECT $1::int", values: [1] });
  assertEquals((await query(driver, "SELECT name FROM pg_prepared_statements")).rows, []);
});

test("a connection keeps a limited number of statements prepared", async (open) => {
  const driver = await open({ maxConnections: 1 });
  const prepared = async () =>
    Number((await query(driver, "SELECT count(*) FROM pg_prepared_statements")).rows[0]?.[0]);
  for (let n = 0; n < 450; n++) await query(driver, `SELECT 1 AS column_${n}`);
  const before = await prepared();
  assert(before >= 450 && before <= 500, `${before} statements`);
  // Another connection replaces the one that can prepare no more.
  for (let n = 450; n < 600; n++) await query(driver, `SELECT 1 AS column_${n}`);
  const after = await prepared();
  assert(after > 50 && after < 150, `${after} statements`);
});

test("500 statements stayed prepared, however long their texts are", async (open) => {
  const driver = await open({ maxConnections: 1 });
  for (let n = 0; n < 30; n++) await query(driver, `SELECT '${"x".repeat(50_000)}', ${n}`);
  const { rows } = await query(
    driver,
    "SELECT coalesce(sum(length(statement)), 0) FROM pg_prepared_statements",
  );
  const kept = Number(rows[0]?.[0]);
  assert(kept > 0 && kept <= 500_000, `${kept} characters`);
});

test("a read-only connection refuses to write, and its label shows no user", async (open) => {
  const driver = await open({ readOnly: true });
  assertMatch(driver.label, /^postgres:\/\/127\.0\.0\.1:\d+\/test_\w+$/);
  await fails(query(driver, "CREATE TABLE t (n int)"), "read-only");
});

test("times are in UTC whatever the role says", async (open) => {
  const admin = await open();
  await query(
    admin,
    "DO $$ BEGIN EXECUTE 'ALTER DATABASE ' || current_database() || ' SET TimeZone = ''Asia/Tokyo'''; END $$",
  );
  await query(
    admin,
    "DO $$ BEGIN EXECUTE 'ALTER DATABASE ' || current_database() || ' SET DateStyle = ''German'''; END $$",
  );
  const driver = await open();
  const { rows } = await query(driver, "SELECT '2024-01-31 12:00:00+00'::timestamptz");
  assertEquals(rows, [["2024-01-31 12:00:00+00"]]);
});

Deno.test(
  "postgres: a server that cannot be reached is a notice, and unavailable",
  async () => {
    const url = "postgres://user:secret@127.0.0.1:1/none";
    const observed: Observation[] = [];
    const driver = await openPostgres(url, { observe: (one) => void observed.push(one) });
    assertEquals(observed.map(({ kind }) => kind), ["notice"]);
    assertMatch(
      JSON.stringify(observed),
      /127\.0\.0\.1:1\/none cannot be reached now: .*ECONNREFUSED/,
    );
    assertEquals(JSON.stringify(observed).includes("secret"), false);
    await fails(query(driver, "SELECT 1"), "unavailable");
    await driver.close();
  },
);

test("a refusal of the server at the start is thrown and is no notice", async (open) => {
  const { rows } = await query(await open(), "SELECT current_database()");
  assertEquals(rows.length, 1);
  const absent = `?dbname=absent`;
  await fails(open({ observe: () => assert(false, "a notice") }, absent), "other");
});

test("a statement that waits for a lock is refused after the deadline", async (open) => {
  const [holder, driver] = [await open(), await open({ maxConnections: 2, waitLimitMs: 500 })];
  await runScript(holder, "CREATE TABLE t (n int PRIMARY KEY);\nINSERT INTO t VALUES (1)");
  await holder.transaction(async (connection) => {
    await connection.query({ text: "UPDATE t SET n = 2", values: [] });
    await fails(query(driver, "UPDATE t SET n = 3"), "unavailable");
    const work = driver.transaction((connection) =>
      connection.query({ text: "SELECT n FROM t FOR UPDATE", values: [] })
    );
    await fails(work, "unavailable");
    // Not even for a row that another is about to insert.
    await fails(query(driver, "INSERT INTO t VALUES (2)"), "unavailable");
    assertEquals((await query(driver, "SELECT n FROM t")).rows, [["1"]]);
  });
  assertEquals((await query(driver, "UPDATE t SET n = 3")).changed, 1);
});

async function query(driver: Driver, text: string) {
  return await driver.query({ text, values: [] });
}

async function endConnectionsButOwn(driver: Driver): Promise<void> {
  await query(
    driver,
    `SELECT pg_terminate_backend(pid, 2000) FROM pg_stat_activity
     WHERE datname = current_database() AND pid <> pg_backend_pid()`,
  );
}

/** A closed connection is noticed after a turn of the event loop or two. */
async function untilClosed(): Promise<void> {
  for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setTimeout(resolve, 2));
}

async function untilTrue(condition: () => Promise<boolean>): Promise<void> {
  for (let attempt = 0; attempt < 200; attempt++) {
    if (await condition()) return;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  throw new Error("It did not come true in time");
}

/** A deferred trigger runs during COMMIT. */
const slowCommit = `CREATE TABLE t (n int);;
CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS
  $$ BEGIN PERFORM pg_sleep(5); RETURN NULL; END $$;;
CREATE CONSTRAINT TRIGGER slow AFTER INSERT ON t DEFERRABLE INITIALLY DEFERRED
  FOR EACH ROW EXECUTE FUNCTION slow();;`;

const sleepers = `SELECT pid FROM pg_stat_activity
  WHERE datname = current_database() AND wait_event = 'PgSleep'`;

const sleepingCommits = `${sleepers} AND query = 'COMMIT'`;
