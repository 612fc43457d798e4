import { assert, assertEquals, assertMatch, assertRejects, assertThrows } from "@std/assert";
import { all, createApp, integer, openDatabase, resource, table, text } from "../../../mod.ts";
import type { Database } from "../../../src/db/database.ts";
import type { DriverReplica, ReadLimits } from "../../../src/db/driver.ts";
import { urlOfServers } from "../../../src/engines/server_url.ts";
import {
  missingPostgres,
  type MortalPostgres,
  startMortalPostgres,
} from "../../support/mortal_postgres.ts";
import { testPostgres, testUnless } from "../../support/skip.ts";

interface Replicated {
  readonly db: Database;
  readonly replica: DriverReplica;
  readonly primary: MortalPostgres;
  readonly standby: MortalPostgres;
  readonly notices: readonly string[];
}

/** The steps share a pair of servers, because a pair takes seconds to start. */
const steps: (readonly [name: string, work: (parts: Replicated) => Promise<void>])[] = [];

function testWithReplica(name: string, work: (parts: Replicated) => Promise<void>): void {
  steps.push([name, work]);
}

const notes = table("notes", { id: integer().primaryKey(), title: text().notNull() });

testWithReplica("only reads that allow a replica run on the standby", async ({ db, replica }) => {
  const ask = (limits: ReadLimits) => runs(db.driver.reads(limits), "SELECT pg_is_in_recovery()");
  assertEquals(await ask({ ...limits, allowsReplica: true }), [["t"]]);
  assertEquals(await ask(limits), [["f"]]);
  assertEquals(await runs(db.driver, "SELECT pg_is_in_recovery()"), [["f"]]);
  assertEquals(replica.counts, { read: 1, late: 0, failed: 0 });
  // A read in a transaction would not see the rows that the transaction has written.
  await db.driver.transaction(async (connection) => {
    assertEquals(await runs(connection, "SELECT pg_is_in_recovery()"), [["f"]]);
    await assertRejects(() => ask({ ...limits, allowsReplica: true }));
  });
});

testWithReplica("a list contains every row that was created before it", async (parts) => {
  await using app = await notesApp(parts.db);
  const { fetch, create, titles } = app;
  for (let at = 0; at < 100; at++) {
    const title = `row ${at}`;
    // The other write is not awaited, so the log of the primary grows during the list.
    const [created] = [await create(title), create("other")];
    assertEquals(created.status, 201);
    assertEquals((await titles(`title=="${title}"`)).length, 1, title);
    const counted = await fetch(`/api/notes/count?filter=title=="${title}"`);
    assertEquals(await counted.json(), { count: 1 });
  }
  assert(parts.replica.counts.read > 0);
});

testWithReplica(
  "a replica that cannot be opened leaves no connection to another one",
  async (parts) => {
    const { primary, standby } = parts;
    const absent = standby.url.replace(/\/[^/]*$/, "/absent");
    const own = await openDatabase(standby.url, { readOnly: true });
    const backends = async () => {
      const sql = "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'";
      return Number((await runs(own.driver, sql))[0]?.[0]);
    };
    const before = await backends();
    const servers = { primary: primary.url, replicas: [standby.url, absent] };
    await assertRejects(() => openDatabase(servers), Error, "The database answered");
    // The server ends a backend some time after its client has closed the connection.
    for (let turn = 0; turn < 200 && await backends() > before; turn++) {
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    assertEquals(await backends(), before);
    await own.close();
  },
);

testWithReplica("a standby that stops replaying is left out until it is back", async (parts) => {
  const { db, replica, notices } = parts;
  await using app = await notesApp(db);
  const { fetch, create, titles } = app;
  await runs(replica.driver, "SELECT pg_wal_replay_pause()");
  await create("after the pause");
  assertEquals(await titles(), ["after the pause"]);
  assertEquals(replica.counts.late, 1);
  assertMatch(notices.join(), /Reads use the primary instead of postgres:.*: .*lags behind/);
  const degraded = await fetch("/readyz");
  assertEquals([degraded.status, (await degraded.json()).checks.replicas.status], [
    200,
    "degraded",
  ]);
  await runs(replica.driver, "SELECT pg_wal_replay_resume()");
  const before = replica.counts.read;
  while (replica.counts.read === before) {
    assertEquals(await titles(), ["after the pause"]);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  assertEquals((await (await fetch("/readyz")).json()).checks.replicas.status, "ok");
  const metrics = await (await fetch("/__service/metrics")).text();
  assertMatch(metrics, /resource_api_replica_reads_total\{.*outcome="late"\} [1-9]/);
});

testWithReplica("a standby that has ended or hangs delays reads, and fails none", async (parts) => {
  const { replica, standby, db } = parts;
  await using app = await notesApp(db);
  const { create, titles } = app;
  await create("one");
  assertEquals(await titles(), ["one"]);
  await standby.crash();
  for (let at = 0; at < 5; at++) assertEquals(await titles(), ["one"]);
  assert(replica.counts.failed + replica.counts.late > 0);
  await standby.start();
  const before = replica.counts.read;
  while (replica.counts.read === before) {
    assertEquals(await titles(), ["one"]);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
});

testWithReplica("a read that fails on the standby alone runs on the primary", async (parts) => {
  const { db, replica } = parts;
  const failing = "SELECT CASE WHEN pg_is_in_recovery()" +
    " THEN 1 / (pg_is_in_recovery()::int - 1) ELSE 7 END";
  const reads = db.driver.reads({ ...limits, allowsReplica: true });
  assertEquals(await runs(reads, failing), [["7"]]);
  assertEquals(replica.counts.failed, 1);
});

testWithReplica("row policies decide on the standby as well", async ({ db, replica }) => {
  for (
    const statement of [
      "CREATE TABLE mine (owner text)",
      "INSERT INTO mine VALUES ('ann'), ('bob')",
      "CREATE ROLE reader NOLOGIN",
      "GRANT SELECT ON mine TO reader",
      "ALTER TABLE mine ENABLE ROW LEVEL SECURITY",
      "CREATE POLICY p ON mine USING (owner = current_setting('app.user', true))",
    ]
  ) await runs(db.driver, statement);
  const acting = db.driver.as?.({ role: "reader", settings: { "app.user": "bob" } });
  assert(acting !== undefined);
  const reads = acting.reads({ ...limits, allowsReplica: true });
  assertEquals(await runs(reads, "SELECT owner, pg_is_in_recovery() FROM mine"), [["bob", "t"]]);
  assertEquals(replica.counts.read, 1);
});

testWithReplica("a promoted standby, and one of another server, run no reads", async (parts) => {
  const { standby, replica } = parts;
  const server = testPostgres();
  assert("url" in server);
  const wrong = await openDatabase({ primary: server.url, replicas: [standby.url] });
  try {
    assertEquals(await portOf(wrong), new URL(server.url).port);
  } finally {
    await wrong.close();
  }
  await standby.promote();
  assertEquals(await portOf(parts.db), new URL(parts.primary.url).port);
  assertEquals(replica.counts, { read: 0, late: 1, failed: 0 });
  assertMatch(parts.notices.join(), /it is no standby/);
});

async function portOf({ driver }: Database): Promise<unknown> {
  const reads = driver.reads({ ...limits, allowsReplica: true });
  return (await runs(reads, "SELECT inet_server_port()"))[0]?.[0];
}

testUnless(missingPostgres, "postgres: replicas run reads, and never show the past", async (t) => {
  await using primary = await startMortalPostgres();
  await using standby = await primary.createStandby();
  for (const [name, work] of steps) {
    await t.step(name, async () => {
      const notices: string[] = [];
      const db = await openDatabase(
        { primary: primary.url, replicas: [standby.url] },
        { observe: (event) => event.kind === "notice" && notices.push(event.message) },
      );
      try {
        const [replica] = db.driver.replicas ?? [];
        assert(replica !== undefined);
        await runs(db.driver, "DROP TABLE IF EXISTS notes");
        await work({ db, replica, primary, standby, notices });
      } finally {
        await db.close();
      }
    });
  }
});

Deno.test("the URLs of replicas are a parameter of the primary's URL", () => {
  const [first, second] = ["postgres://a@r1/x?sslmode=require", "postgres://a@r2/x"];
  const url = urlOfServers({ primary: "postgres://a@p/x", replicas: [first, second] });
  assertEquals(url, `postgres://a@p/x?replicas=${encodeURIComponent(`${first} ${second}`)}`);
  // The cast is needed: a program in JavaScript can pass anything.
  assertThrows(() => urlOfServers({ primary: "postgres://p", replicas: "x" } as never), Error);
});

Deno.test("a replica with several hosts is refused, because each has a position of its own", async () => {
  const servers = { primary: "postgres://a@p/x", replicas: ["postgres://a@r1,r2/x"] };
  await assertRejects(() => openDatabase(servers), Error, "name each in replicas");
});

const limits: ReadLimits = {
  identity: "test",
  signal: new AbortController().signal,
  maxBytes: 1_000_000,
  timeoutMs: 10_000,
};

type Rows = readonly (readonly unknown[])[];

async function runs(
  connection: Pick<Database["driver"], "query">,
  statement: string,
): Promise<Rows> {
  return (await connection.query({ text: statement, values: [] })).rows;
}

async function notesApp(db: Database) {
  await db.createTables([notes]);
  const app = await createApp({
    db,
    resources: [
      resource(notes, {
        id: notes.id,
        auth: { public: { read: true }, create: () => all() },
      }),
    ],
    auth: {
      middleware: async (context, next) => {
        context.set("user", { id: "ann" });
        await next();
      },
    },
    observability: { metrics: { authorize: () => true } },
  });
  const fetch = (path: string, init?: RequestInit) =>
    app.fetch(new Request(`http://localhost${path}`, init));
  return {
    [Symbol.asyncDispose]: () => app.close(),
    fetch,
    create: (title: string) =>
      fetch("/api/notes", {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ title }),
      }),
    titles: async (filter = "") => {
      const response = await fetch(`/api/notes?filter=${encodeURIComponent(filter)}`);
      // The cast is safe: the body is a page of notes.
      const { items } = await response.json() as { items: { title: string }[] };
      return items.map(({ title }) => title);
    },
  };
}
