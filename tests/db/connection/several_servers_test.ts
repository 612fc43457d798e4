import { assert, assertEquals, assertMatch, assertRejects } from "@std/assert";
import { DatabaseError, reasonOf } from "../../../src/db/database_error.ts";
import type { Driver } from "../../../src/db/driver.ts";
import { openPostgres } from "../../../src/engines/postgres/driver/postgres_js_driver.ts";
import {
  missingPostgres,
  type MortalPostgres,
  startMortalPostgres,
} from "../../support/mortal_postgres.ts";
import { gate } from "../../support/scratch.ts";
import { testUnless } from "../../support/skip.ts";

interface Pair {
  readonly primary: MortalPostgres;
  readonly standby: MortalPostgres;
  /** The URL of both servers, the standby first, with further parameters. */
  readonly url: (more?: string) => string;
}

function testOnPair(name: string, work: (pair: Pair) => Promise<void>): void {
  testUnless(missingPostgres, `postgres: ${name}`, async () => {
    await using primary = await startMortalPostgres();
    await using standby = await primary.createStandby();
    const [first, second] = [standby, primary].map(({ url }) => new URL(url).host);
    const url = (more = "") => `postgres://postgres@${first},${second}/postgres?${more}`;
    await work({ primary, standby, url });
  });
}

testOnPair("a standby as the first host made every write 503 for ever", async ({ url }) => {
  await using driver = await opened(url());
  await sql(driver, "CREATE TABLE t (n int)");
  assertEquals((await sql(driver, "INSERT INTO t VALUES (1)")).changed, 1);
});

testOnPair("target_session_attrs chooses the server of a state", async ({ url, standby }) => {
  const states: readonly (readonly [state: string, isStandby: string])[] = [
    ["read-write", "f"],
    ["primary", "f"],
    ["any", "t"],
    ["standby", "t"],
    ["read-only", "t"],
    ["prefer-standby", "t"],
  ];
  for (const [state, isStandby] of states) {
    await using driver = await opened(url(`target_session_attrs=${state}`));
    assertEquals((await sql(driver, "SELECT pg_is_in_recovery()")).rows, [[isStandby]], state);
  }
  await using reading = await opened(url(), true);
  assertEquals((await sql(reading, "SELECT pg_is_in_recovery()")).rows, [["t"]]);
  await using writing = await opened(url("target_session_attrs=read-write"), true);
  assertEquals((await sql(writing, "SELECT pg_is_in_recovery()")).rows, [["f"]]);
  await standby.promote();
  await using left = await opened(url("target_session_attrs=prefer-standby"));
  assertEquals((await sql(left, "SELECT pg_is_in_recovery()")).rows, [["f"]]);
});

testOnPair(
  "a demoted primary that stays up was written to for ever",
  async ({ url, primary, standby }) => {
    await using driver = await opened(url());
    await createTable(driver, standby);
    let signalled = gate();
    const listener = driver.signals?.listen(() => signalled.open());
    await signalled.passed;
    await using former = await opened(primary.url);
    await sql(former, "ALTER SYSTEM SET default_transaction_read_only = on");
    await sql(former, "SELECT pg_reload_conf()");
    await standby.promote();
    await untilDone(() => sql(driver, "INSERT INTO t VALUES (1)"));
    await using now = await opened(standby.url);
    assertEquals((await sql(now, "SELECT n FROM t")).rows, [["1"]]);
    // The listener hears the new primary, also without a write of this process.
    signalled = gate();
    await untilDone(async () => {
      const { rows } = await sql(
        now,
        "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND mode = 'ShareLock'",
      );
      if (rows[0]?.[0] !== "1") throw new DatabaseError("unavailable", new Error("not yet"));
    });
    await listener?.close();
  },
);

testOnPair("a failover is over when the standby is promoted", async ({ url, primary, standby }) => {
  await using driver = await opened(url());
  await createTable(driver, standby);
  await primary.crash();
  const error = await assertRejects(() => sql(driver, "INSERT INTO t VALUES (1)"), DatabaseError);
  assert(["unavailable", "unknown-outcome"].includes(error.kind), error.kind);
  await standby.promote();
  await untilDone(() => sql(driver, "INSERT INTO t VALUES (2)"));
});

testOnPair("a message names each server and its reason", async ({ url, primary }) => {
  await primary.crash();
  const notices: string[] = [];
  const driver = await openPostgres(url(), {
    observe: (one) => void notices.push("message" in one ? String(one.message) : ""),
  });
  const error = await assertRejects(() => sql(driver, "SELECT 1"), DatabaseError);
  await driver.close();
  assertEquals(error.kind, "unavailable");
  const expected =
    /127\.0\.0\.1:\d+: the server is a standby, and target_session_attrs is read-write; 127\.0\.0\.1:\d+: .*ECONNREFUSED/;
  assertMatch(reasonOf(error), expected);
  assertMatch(notices.join(), expected);
});

testOnPair("a host that is silent does not use up the wait of a request", async ({ primary }) => {
  const silent = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const held: Deno.Conn[] = [];
  const accepting = (async () => {
    for await (const connection of silent) held.push(connection);
  })();
  const { host } = new URL(primary.url);
  const url = `postgres://postgres@127.0.0.1:${silent.addr.port},${host}/postgres`;
  const driver = await openPostgres(url, { waitLimitMs: 3_000 });
  assertEquals((await sql(driver, "SELECT 1")).rows, [["1"]]);
  await driver.close();
  silent.close();
  for (const connection of held) connection.close();
  await accepting;
});

async function opened(url: string, readOnly = false): Promise<Driver & AsyncDisposable> {
  const driver = await openPostgres(url, { readOnly, maxConnections: 2 });
  return Object.assign(driver, { [Symbol.asyncDispose]: () => driver.close() });
}

async function sql(driver: Driver, text: string) {
  return await driver.query({ text, values: [] });
}

/** Creates a table on the primary, and waits until the standby has it: it is asynchronous. */
async function createTable(driver: Driver, standby: MortalPostgres): Promise<void> {
  await sql(driver, "CREATE TABLE t (n int)");
  await using reading = await opened(standby.url, true);
  while (true) {
    const { rows } = await sql(reading, "SELECT to_regclass('t') IS NOT NULL");
    if (rows[0]?.[0] === "t") return;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** Repeats work that fails while no server can do the work. */
async function untilDone(work: () => Promise<unknown>): Promise<void> {
  for (;;) {
    try {
      await work();
      return;
    } catch (error) {
      assert(error instanceof DatabaseError, String(error));
      assert(
        ["unavailable", "read-only"].includes(error.kind),
        `${error.kind} ${Deno.inspect(error.cause)}`,
      );
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
}
