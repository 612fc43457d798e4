/** Reads that share a connection: each has the result or the error that it has alone. */
import { assert, assertEquals } from "@std/assert";
import { DatabaseError } from "../../src/db/database_error.ts";
import type { Driver, QueryResult, ReadLimits } from "../../src/db/driver.ts";
import type { Statement } from "../../src/sql/fragment.ts";
import { testOnPostgresDriver as test } from "../support/postgres_tests.ts";
import { runScript } from "../support/scratch.ts";

const tables = `
  CREATE TABLE t AS SELECT n, 'row ' || n AS name FROM generate_series(1, 100) n;
  CREATE TABLE locked AS SELECT 1 AS n;`;

test("each of many reads has its own row", async (open) => {
  const driver = await open({ maxConnections: 3 });
  await runScript(driver, tables);
  const results = await Promise.all(range(100).map((n) => read(driver, byKey(n))));
  assertEquals(results, range(100).map((n) => [[String(n), `row ${n}`]]));
});

test("each of many reads has its own error", async (open) => {
  const driver = await open({ maxConnections: 3 });
  await runScript(driver, tables);
  const failing = { text: "SELECT 1 / (n - $1) FROM t WHERE n = $1", values: [5], isSingle: true };
  const results = await Promise.all(
    range(60).map((n) => read(driver, n % 20 === 0 ? failing : byKey(n))),
  );
  const expected = range(60).map((n) =>
    n % 20 === 0 ? "failed-computation" : [[String(n), `row ${n}`]]
  );
  assertEquals(results, expected);
});

test("a locked table holds up only its own reads", async (open) => {
  const driver = await open({
    statementTimeoutMs: 120_000,
    waitLimitMs: 60_000,
    maxConnections: 6,
  });
  const other = await open({ maxConnections: 1 });
  await runScript(driver, tables);
  await other.transaction(async (connection) => {
    await connection.query({ text: "LOCK TABLE locked IN ACCESS EXCLUSIVE MODE", values: [] });
    let isRead = false;
    const ofLocked = { text: "SELECT n FROM locked WHERE n = $1", values: [1], isSingle: true };
    const blocked = [1, 2].map(() => read(driver, ofLocked).then(() => isRead = true));
    const results = await Promise.all(range(50).map((n) => read(driver, byKey(n))));
    assertEquals(results.length, 50);
    await Promise.all(range(10).map((n) => read(driver, byKey(n))));
    assert(!isRead);
    void blocked;
  });
});

test("reads of a table that is altered have their rows", async (open) => {
  const driver = await open({ maxConnections: 3 });
  const other = await open({ maxConnections: 1 });
  await runScript(driver, tables);
  for (const type of ["bigint", "int", "bigint", "int"]) {
    for (let round = 0; round < 2; round++) {
      const results = await Promise.all(range(40).map((n) => read(driver, byKey(n))));
      assertEquals(results, range(40).map((n) => [[String(n), `row ${n}`]]));
    }
    await query(other, `ALTER TABLE t ALTER COLUMN n TYPE ${type}`);
  }
});

test("reads are run again if their connection is lost", async (open) => {
  const driver = await open({ waitLimitMs: 60_000, maxConnections: 6 });
  const other = await open({ maxConnections: 1 });
  await runScript(driver, tables);
  const slow = (n: number): Statement => ({
    text: "SELECT n, name FROM (SELECT * FROM t WHERE n = $1 LIMIT 1) AS row, pg_sleep(0.5)",
    values: [n],
    isSingle: true,
  });
  const results = range(8).map((n) => read(driver, slow(n)));
  while ((await query(other, sleepers)).rows.length === 0);
  await query(other, `SELECT pg_terminate_backend(pid) FROM (${sleepers}) AS s`);
  assertEquals(await Promise.all(results), range(8).map((n) => [[String(n), `row ${n}`]]));
});

test("each of many lists has its own rows", async (open) => {
  const driver = await open({ maxConnections: 8 });
  await runScript(driver, tables);
  await list(driver, lastRows(1));
  const results = await Promise.all(range(100).map((n) => list(driver, lastRows(n))));
  assertEquals(results, range(100).map((n) => range(n).map((row) => [String(row)])));
});

test("each of many lists has its own error", async (open) => {
  const driver = await open({ maxConnections: 8 });
  await runScript(driver, tables);
  const divided = (by: number) => ({ text: "SELECT n / $1::int FROM t WHERE n = 6", values: [by] });
  for (const by of [1, 2, 0, 3]) await list(driver, divided(by));
  const results = await Promise.all(range(60).map((n) => list(driver, divided(n % 4))));
  assertEquals(
    results,
    range(60).map((n) => n % 4 === 0 ? "failed-computation" : [[String(6 / (n % 4))]]),
  );
});

test("a list beyond its limit of bytes fails alone", async (open) => {
  const driver = await open({ maxConnections: 8 });
  await runScript(driver, tables);
  await list(driver, lastRows(1));
  const results = await Promise.all(
    range(60).map((n) => list(driver, lastRows(20), { maxBytes: n % 6 === 0 ? 10 : 10_000 })),
  );
  const rows = range(20).map((row) => [String(row)]);
  assertEquals(results, range(60).map((n) => n % 6 === 0 ? "too-large" : rows));
});

test("a slow value of a quick statement has its rows, and holds up the others briefly", async (open) => {
  const driver = await open({ waitLimitMs: 60_000, maxConnections: 8 });
  await runScript(driver, tables);
  const sleeping = (seconds: number) => ({
    text: "SELECT $1::float8 FROM pg_sleep($1::float8)",
    values: [seconds],
  });
  for (let times = 0; times < 3; times++) await list(driver, sleeping(0));
  let ended = 0;
  const slow = list(driver, sleeping(2)).then((rows) => [rows, ended]);
  const quick = range(40).map(() => list(driver, sleeping(0)).then((rows) => (ended++, rows)));
  assertEquals(await Promise.all(quick), range(40).map(() => [["0"]]));
  assertEquals(await slow, [[["2"]], 40]);
});

test("a list that is too slow fails, even if its statement was quick before", async (open) => {
  const driver = await open({ waitLimitMs: 60_000, maxConnections: 8 });
  await runScript(driver, tables);
  const sleeping = (seconds: number) => ({
    text: "SELECT $1::float8 FROM pg_sleep($1::float8)",
    values: [seconds],
  });
  for (let times = 0; times < 3; times++) await list(driver, sleeping(0));
  assertEquals(await list(driver, sleeping(600), { timeoutMs: 300 }), "too-slow");
  assertEquals((await query(driver, sleepers)).rows, []);
});

test("lists of a table that is altered have their rows", async (open) => {
  const driver = await open({ maxConnections: 8 });
  const other = await open({ maxConnections: 1 });
  await runScript(driver, tables);
  for (const type of ["bigint", "int", "bigint", "int"]) {
    for (let round = 0; round < 2; round++) {
      const results = await Promise.all(range(40).map((n) => list(driver, lastRows(n))));
      assertEquals(results, range(40).map((n) => range(n).map((row) => [String(row)])));
    }
    await query(other, `ALTER TABLE t ALTER COLUMN n TYPE ${type}`);
  }
});

test("lists are read again if their connection is lost", async (open) => {
  const driver = await open({ waitLimitMs: 60_000, maxConnections: 8 });
  const other = await open({ maxConnections: 1 });
  await runScript(driver, tables);
  const sleeping = (n: number, seconds: number) => ({
    text: "SELECT $1::int FROM pg_sleep($2::float8)",
    values: [n, seconds],
  });
  for (let times = 0; times < 3; times++) await list(driver, sleeping(0, 0));
  const results = range(8).map((n) => list(driver, sleeping(n, n === 1 ? 1 : 0)));
  while ((await query(other, sleepers)).rows.length === 0);
  await query(other, `SELECT pg_terminate_backend(pid) FROM (${sleepers}) AS s`);
  const [first, ...others] = await Promise.all(results);
  // The server ends the connection of the first read: the shared one, or its own.
  assert(first === "unavailable" || JSON.stringify(first) === `[["1"]]`, String(first));
  assertEquals(others, range(8).slice(1).map((n) => [[String(n)]]));
});

/** Returns the statement that reads the numbers up to `n`. */
function lastRows(n: number): Statement {
  return { text: "SELECT n FROM t WHERE n <= $1 ORDER BY n", values: [n] };
}

async function list(
  driver: Driver,
  statement: Statement,
  limits: Partial<ReadLimits> = {},
): Promise<QueryResult["rows"] | string> {
  const { signal } = new AbortController();
  const all = { identity: "", signal, maxBytes: 1_000_000, timeoutMs: 60_000, ...limits };
  try {
    return (await driver.reads(all).query(statement)).rows;
  } catch (error) {
    if (!(error instanceof DatabaseError)) throw error;
    return error.kind;
  }
}

function byKey(n: number): Statement {
  return { text: "SELECT n, name FROM t WHERE n = $1", values: [n], isSingle: true };
}

async function read(driver: Driver, statement: Statement): Promise<QueryResult["rows"] | string> {
  try {
    return (await driver.query(statement)).rows;
  } catch (error) {
    if (!(error instanceof DatabaseError)) throw error;
    return error.kind;
  }
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
