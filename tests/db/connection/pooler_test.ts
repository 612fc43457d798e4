import { assert, assertEquals, assertMatch, assertRejects } from "@std/assert";
import { openDatabase } from "../../../mod.ts";
import type { Driver } from "../../../src/db/driver.ts";
import {
  openPostgres,
  type PostgresOptions,
} from "../../../src/engines/postgres/driver/postgres_js_driver.ts";
import { changesChannel } from "../../../src/engines/postgres/sql/change_log_schema.ts";
import { urlOfServers } from "../../../src/engines/server_url.ts";
import { fails } from "../../conformance/driver.ts";
import { createScratchDatabase } from "../../support/engines.ts";
import { pgbouncerForTests, startPgbouncer } from "../../support/pgbouncer.ts";
import { gate } from "../../support/scratch.ts";
import { testPostgres, testUnless } from "../../support/skip.ts";

const server = testPostgres();
const pgbouncer = await pgbouncerForTests();
const missing = "missing" in server
  ? server.missing
  : "missing" in pgbouncer
  ? pgbouncer.missing
  : null;

interface Pooled {
  /** The URL of the server, and the URL through the pooler. */
  readonly primary: string;
  readonly pooler: string;
}

function testOnPooler(name: string, work: (urls: Pooled) => Promise<void>): void {
  testUnless(missing, `postgres: ${name}`, async () => {
    assert("url" in server && "path" in pgbouncer);
    const scratch = await createScratchDatabase(server.url);
    try {
      await using pooler = await startPgbouncer(pgbouncer.path, scratch.url);
      await work({ primary: scratch.url, pooler: pooler.url });
    } finally {
      await scratch.drop();
    }
  });
}

testOnPooler("a database that is read through a pooler did not open", async (urls) => {
  await using owner = await opened(urls.primary);
  await sql(owner, "CREATE TABLE t (n int)");
  await sql(
    owner,
    "CREATE FUNCTION f() RETURNS int LANGUAGE sql AS 'INSERT INTO t VALUES (1) RETURNING n'",
  );
  await using driver = await opened(`${urls.pooler}?prepare=false`, { readOnly: true });
  assertEquals((await driver.query({ text: "SELECT $1::int", values: [7] })).rows, [["7"]]);
  await fails(sql(driver, "INSERT INTO t VALUES (1)"), "read-only");
  await assertRejects(() => sql(driver, "SELECT f()"));
  const work = driver.transaction((connection) =>
    connection.query({ text: "INSERT INTO t VALUES (1)", values: [] })
  );
  await fails(work, "read-only");
  assertEquals((await sql(driver, "SELECT count(*) FROM t")).rows, [["0"]]);
});

testOnPooler("requests use the pooler, and the listener hears other programs", async (urls) => {
  await using driver = await opened(urlOfServers(urls));
  await using owner = await opened(urls.primary, { maxConnections: 1 });
  await sql(driver, "CREATE TABLE t (n int)");
  let signalled = gate();
  const listener = driver.signals?.listen(() => signalled.open());
  await signalled.passed;
  signalled = gate();
  const { rows } = await sql(
    owner,
    `SELECT pid FROM pg_locks JOIN pg_database AS d ON d.oid = database
     WHERE locktype = 'advisory' AND mode = 'ShareLock' AND datname = current_database()`,
  );
  assertEquals(rows.length, 1);
  await sql(owner, `NOTIFY ${changesChannel}`);
  await signalled.passed;
  await Promise.all(Array.from({ length: 30 }, () => sql(driver, "INSERT INTO t VALUES (1)")));
  const sessions = await sql(
    owner,
    `SELECT count(*) FROM pg_stat_activity
     WHERE datname = current_database() AND pid <> pg_backend_pid()`,
  );
  // Two connections of the pooler and the listener.
  assert(Number(sessions.rows[0]?.[0]) <= 3, String(sessions.rows));
  await listener?.close();
});

testOnPooler("no setting of a session remains in a pooler", async (urls) => {
  const names = ["lock_timeout", "statement_timeout", "transaction_read_only", "role"];
  const text = `SELECT ${names.map((name) => `current_setting('${name}')`)}`;
  await using owner = await opened(urls.primary);
  await sql(owner, "CREATE TABLE t (n int)");
  for (const options of [{ readOnly: true }, {}]) {
    await using driver = await opened(urlOfServers(urls), { ...options, waitLimitMs: 1_234 });
    const inside = await driver.transaction((connection) => connection.query({ text, values: [] }));
    const isReadOnly = options.readOnly === true ? "on" : "off";
    assertEquals(inside.rows, [["1234ms", "15s", isReadOnly, "none"]]);
    await Promise.all(Array.from({ length: 8 }, () => sql(driver, "SELECT 1")));
    await using other = await opened(`${urls.pooler}?prepare=false`);
    for (let count = 0; count < 4; count++) {
      assertEquals((await sql(other, text)).rows, [["0", "0", "off", "none"]]);
    }
  }
});

testOnPooler("a transaction through a pooler does not wait for a lock for ever", async (urls) => {
  await using driver = await opened(urlOfServers(urls), { waitLimitMs: 1_000 });
  await using holder = await opened(urls.primary);
  await sql(holder, "CREATE TABLE t (n int)");
  await holder.transaction(async (connection) => {
    await connection.query({ text: "LOCK TABLE t", values: [] });
    const work = driver.transaction((connection) =>
      connection.query({ text: "TABLE t", values: [] })
    );
    await fails(work, "unavailable");
  });
});

testOnPooler("a pooler that is no pooler for the service ended without a remedy", async (urls) => {
  const error = await assertRejects(() => openPostgres(urls.pooler), Error);
  assertMatch(error.message, /this is a pooler .*--pooler URL, or add prepare=false/);
});

testOnPooler("with a pooler alone, a notice names the direct URL", async (urls) => {
  const notices: unknown[] = [];
  const observe = (one: unknown) => void notices.push(one);
  await using _driver = await opened(`${urls.pooler}?prepare=false`, { observe });
  assertMatch(
    JSON.stringify(notices),
    /is a pooler, so live streams .* by polling: .*--pooler URL/,
  );
});

testOnPooler("a pooler whose sessions format values differently is refused", async (urls) => {
  await using owner = await opened(urls.primary);
  const name = new URL(urls.primary).pathname.slice(1);
  await sql(owner, `ALTER DATABASE ${name} SET bytea_output = 'escape'`);
  const error = await assertRejects(() => openPostgres(urlOfServers(urls)), Error);
  assertMatch(error.message, /bytea_output = escape: set it for the role/);
});

testOnPooler("openDatabase accepts a primary and a pooler, and no other name", async (urls) => {
  const db = await openDatabase(urls);
  assertEquals((await db.query({ text: "SELECT 1 AS n", values: [] })).rows, [["1"]]);
  await db.close();
  const unknown = { ...urls, replica: urls.primary };
  await assertRejects(
    () => openDatabase(unknown),
    Error,
    "several servers are { primary: URL, pooler: URL, replicas: [URL] }",
  );
});

async function opened(
  url: string,
  options: PostgresOptions = {},
): Promise<Driver & AsyncDisposable> {
  const driver = await openPostgres(url, options);
  return Object.assign(driver, { [Symbol.asyncDispose]: () => driver.close() });
}

async function sql(driver: Driver, text: string) {
  return await driver.query({ text, values: [] });
}
