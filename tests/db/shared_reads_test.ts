/** Reads by key that share a connection: each has the result or the error that it has alone. */
import { assert, assertEquals } from "@std/assert";
import { DatabaseError } from "../../src/db/database_error.ts";
import type { Driver, QueryResult } from "../../src/db/driver.ts";
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
