import { assert, assertEquals } from "@std/assert";
import { DatabaseError } from "../../src/db/database_error.ts";
import type { Driver } from "../../src/db/driver.ts";
import { openPostgres } from "../../src/engines/postgres/driver/postgres_js_driver.ts";
import type {
  PostgresConnection,
  PostgresResult,
} from "../../src/engines/postgres/driver/postgres_connection.ts";
import { postgresDriver } from "../../src/engines/postgres/driver/postgres_driver.ts";
import { fails } from "../conformance/driver.ts";
import { startPostgresCluster } from "../support/postgres_cluster.ts";
import { testOnPostgres as test } from "../support/postgres_tests.ts";
import { gate } from "../support/scratch.ts";
import { testPostgres, testUnless } from "../support/skip.ts";
import { handClock } from "./hand_clock.ts";
import { postgresProxy } from "./postgres_proxy.ts";

const server = testPostgres();
const missing = "missing" in server ? server.missing : null;

test("no write escapes its transaction, and no worker hangs, when connections are killed", async (url) => {
  const other = await openPostgres(url, { maxConnections: 1 });
  const driver = await openPostgres(url);
  try {
    await sql(driver, "CREATE TABLE t (id text PRIMARY KEY)");
    const work = workers(driver, 12);
    for (let round = 0; round < 25; round++) {
      await sql(other, killOthers);
      await sleep(round % 5 * 10);
    }
    await provesSound(driver, other, await work.end());
  } finally {
    await driver.close();
    await other.close();
  }
});

testUnless(
  missing,
  "postgres: a server that crashes and comes back leaves no stray row",
  async () => {
    const cluster = await startPostgresCluster();
    assert("url" in cluster);
    try {
      await confirmForGood(cluster.url);
      const driver = await openPostgres(cluster.url);
      try {
        await sql(driver, "CREATE TABLE t (id text PRIMARY KEY)");
        const work = workers(driver, 12);
        for (let round = 0; round < 3; round++) {
          await sleep(100);
          // The server ends all its processes, and refuses for a moment, when one dies of this.
          const { rows } = await untilAnswered(() => sql(driver, "SELECT pg_backend_pid()"));
          Deno.kill(Number(rows[0]?.[0]), "SIGKILL");
        }
        const outcomes = await work.end();
        await untilAnswered(() => sql(driver, "SELECT 1"));
        await provesSound(driver, driver, outcomes);
      } finally {
        await driver.close();
      }
    } finally {
      await cluster.stop();
    }
  },
);

test("a proxy that ends every connection at once is not tried for ever", async (url) => {
  await using proxy = postgresProxy(url, () => Promise.resolve(false));
  const driver = await openPostgres(proxy.url, { waitLimitMs: 100 });
  await fails(sql(driver, "SELECT 1"), "unavailable");
  await driver.close();
  const before = proxy.taken();
  await sleep(100);
  assertEquals(proxy.taken(), before);
});

test("a request that gives up waiting leaves the connection to the next", async (url) => {
  const slow = gate();
  let asked = 0;
  await using proxy = postgresProxy(url, async () => {
    if (++asked === 2) await slow.passed;
    return true;
  });
  const driver = await openPostgres(proxy.url, { maxConnections: 1, waitLimitMs: 1_500 });
  const other = await openPostgres(url, { maxConnections: 1 });
  try {
    await sql(driver, "CREATE TABLE t (id text)");
    await sql(other, killOthers);
    await sleep(50);
    await fails(sql(driver, "INSERT INTO t VALUES ('late')"), "unavailable");
    slow.open();
    assertEquals((await sql(driver, "SELECT * FROM t")).rows, []);
    assertEquals(asked, 2);
    assertEquals((await sql(other, othersOpen)).rows, [["1"]]);
  } finally {
    await driver.close();
    await other.close();
  }
});

Deno.test("postgres: waiting for a connection and for its transaction share one deadline", async () => {
  const { clock, advance } = handClock();
  const made: FakeConnection[] = [];
  const driver = postgresDriver({
    label: "fake",
    isShared: false,
    signals: null,
    sessions: [{
      connection() {
        const last = made.at(-1);
        if (last?.lost === false) return last;
        const connection = fakeConnection();
        made.push(connection);
        return connection;
      },
      close: () => Promise.resolve(),
    }],
    maxReads: 1,
    waitLimitMs: 100,
    clock,
    close: () => Promise.resolve(),
  });
  const end = gate();
  const holder = driver.transaction(() => end.passed);
  await turn();
  made[0]?.fallSilent();
  const waiting = fails(driver.transaction(() => Promise.resolve()), "unavailable");
  advance(60);
  end.open();
  await turn();
  made[0]?.answer("COMMIT");
  await holder;
  await turn();
  assertEquals(made[0]?.unanswered(), ["BEGIN"]);
  advance(40);
  await waiting;
  // It may begin later, so that no request gets this connection again.
  assertEquals(made[0]?.lost, true);
  await driver.transaction(() => Promise.resolve());
  assertEquals(made.length, 2);
  await driver.close();
});

/** The tests' servers confirm commits that a crash may undo. */
async function confirmForGood(url: string): Promise<void> {
  const driver = await openPostgres(url, { maxConnections: 1 });
  await sql(driver, "ALTER DATABASE postgres SET synchronous_commit = on");
  await driver.close();
}

interface FakeConnection extends PostgresConnection {
  readonly fallSilent: () => void;
  readonly answer: (text: string) => void;
  readonly unanswered: () => string[];
}

function fakeConnection(): FakeConnection {
  const open = new Map<string, () => void>();
  let lost = false;
  let silent = false;
  const run = (text: string): Promise<PostgresResult> =>
    new Promise((resolve) => {
      const answer = () => resolve({ rows: [], command: text, count: 0, columns: [] });
      if (silent) open.set(text, answer);
      else answer();
    });
  return {
    opening: null,
    get lost() {
      return lost;
    },
    drop: () => lost = true,
    read: () => {
      throw new Error("this test reads nothing");
    },
    ...{ run, end: run },
    fallSilent: () => silent = true,
    answer(text) {
      open.get(text)?.();
      open.delete(text);
    },
    unanswered: () => [...open.keys()],
  };
}

interface Outcomes {
  readonly committed: ReadonlySet<string>;
  readonly unknown: ReadonlySet<string>;
}

/** Each runs transactions until the end: one that fails by itself, one that should succeed. */
function workers(driver: Driver, count: number): { readonly end: () => Promise<Outcomes> } {
  const [committed, unknown] = [new Set<string>(), new Set<string>()];
  let ending = false;

  async function work(worker: number): Promise<void> {
    for (let n = 0; !ending; n++) {
      await insert(`failed-${worker}-${n}`, true);
      await insert(`kept-${worker}-${n}`, false);
    }
  }

  async function insert(id: string, thenFail: boolean): Promise<void> {
    try {
      await driver.transaction(async (connection) => {
        await connection.query({ text: "INSERT INTO t VALUES ($1) RETURNING id", values: [id] });
        if (thenFail) throw new Error("on purpose");
      });
      committed.add(id);
    } catch (error) {
      if (!(error instanceof DatabaseError)) return;
      if (error.kind === "unknown-outcome") unknown.add(id);
      else assertEquals(error.kind, "unavailable", String(error.cause));
      // A stopped server refuses at once, thousands of times a second.
      await sleep(2);
    }
  }

  const running = Array.from({ length: count }, (_, worker) => work(worker));
  return {
    async end() {
      ending = true;
      await inTime(Promise.all(running));
      return { committed, unknown };
    },
  };
}

/** The table holds what was committed, no transaction is left open, and the pool serves all. */
async function provesSound(driver: Driver, other: Driver, outcomes: Outcomes): Promise<void> {
  const { committed, unknown } = outcomes;
  assert(committed.size > 0);
  const { rows } = await sql(other, "SELECT id FROM t");
  const stored = new Set(rows.map(([id]) => String(id)));
  assertEquals([...stored].filter((id) => id.startsWith("failed")), []);
  assertEquals([...committed].filter((id) => !stored.has(id)), []);
  assertEquals([...stored].filter((id) => !committed.has(id) && !unknown.has(id)), []);
  await inTime(Promise.all(Array.from({ length: 40 }, () => sql(driver, "SELECT 1"))));
  assertEquals((await sql(other, openTransactions)).rows, []);
  const [[open = ""] = []] = (await sql(other, othersOpen)).rows;
  assert(Number(open) <= 10, `${open} connections are open`);
}

const others = `FROM pg_stat_activity
  WHERE datname = current_database() AND application_name = 'resource-api'
  AND pid <> pg_backend_pid()`;
const killOthers = `SELECT pg_terminate_backend(pid) ${others}`;
const othersOpen = `SELECT count(*) ${others}`;
const openTransactions = `SELECT state, query ${others} AND state LIKE 'idle in transaction%'`;

async function sql(driver: Driver, text: string) {
  return await driver.query({ text, values: [] });
}

async function untilAnswered<T>(query: () => Promise<T>): Promise<T> {
  for (let attempt = 0; attempt < 500; attempt++) {
    try {
      return await query();
    } catch (error) {
      if (!(error instanceof DatabaseError)) throw error;
      await sleep(20);
    }
  }
  throw new Error("The server did not come back");
}

/** A hang fails the test instead of holding it. */
async function inTime<T>(work: Promise<T>): Promise<T> {
  const limit = Promise.withResolvers<never>();
  const timer = setTimeout(() => limit.reject(new Error("It never ended")), 15_000);
  try {
    return await Promise.race([work, limit.promise]);
  } finally {
    clearTimeout(timer);
  }
}

/** Lets all work run that waits only for the event loop. */
function turn(): Promise<void> {
  return sleep(0);
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
