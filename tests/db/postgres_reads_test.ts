import { assert, assertEquals } from "@std/assert";
import type { Driver, ReadLimits } from "../../src/db/driver.ts";
import { fails } from "../conformance/driver.ts";
import { openPostgres } from "../../src/engines/postgres/driver/postgres_js_driver.ts";
import { testOnPostgres, testOnPostgresDriver as test } from "../support/postgres_tests.ts";
import { runScript } from "../support/scratch.ts";

test("fourteen slow reads hold all ten connections, and keyed reads and writes find none", async (open) => {
  const driver = await open({ waitLimitMs: 1_000 });
  await query(driver, "CREATE TABLE t (n int)");
  const client = new AbortController();
  const slow = Array.from({ length: 14 }, () => read(driver, sleep, { signal: client.signal }));
  const ends = slow.map((one) => one.then(() => "read", (error) => error.kind));
  await untilTrue(async () => await sleeping(driver) === 4);
  assertEquals((await query(driver, "INSERT INTO t VALUES (1)")).changed, 1);
  const keyed = Array.from({ length: 20 }, () => query(driver, "SELECT n FROM t"));
  assertEquals((await Promise.all(keyed)).flatMap(({ rows }) => rows.flat()), Array(20).fill("1"));
  // The fifth connection for reads is left to other identities.
  const other = await read(driver, "SELECT n FROM t", { identity: "another" });
  assertEquals(other.rows, [["1"]]);
  client.abort();
  assertEquals((await Promise.all(ends)).toSorted(), [
    ...Array(10).fill("overloaded"),
    ...Array(4).fill("too-slow"),
  ]);
  assertEquals(await sleeping(driver), 0);
});

test("reads take no more connections than maxReadConnections", async (open) => {
  const driver = await open({ maxConnections: 4, maxReadConnections: 3 });
  const client = new AbortController();
  const identities = ["a", "b", "c", "d", "e"];
  const ends = identities.map((identity) =>
    read(driver, sleep, { identity, signal: client.signal }).catch(() => {})
  );
  await untilTrue(async () => await sleeping(driver) === 3);
  client.abort();
  await Promise.all(ends);
});

test("a read runs on after its time, or when its client has left", async (open) => {
  const driver = await open({ maxConnections: 1 });
  const observer = await open({ maxConnections: 1 });
  const pid = (await query(driver, "SELECT pg_backend_pid()")).rows;
  await fails(read(driver, sleep, { timeoutMs: 20 }), "too-slow");
  await fails(read(driver, sleep, { timeoutMs: 90 }), "too-slow");
  const client = new AbortController();
  const left = fails(read(driver, sleep, { signal: client.signal }), "too-slow");
  await untilTrue(async () => await sleeping(observer) === 1);
  client.abort();
  await left;
  assertEquals(await sleeping(observer), 0);
  // Nor does each such read cost a connection.
  assertEquals((await query(driver, "SELECT pg_backend_pid()")).rows, pid);
});

test("one read of a large table took three processes of the server", async (open) => {
  const show = "SHOW max_parallel_workers_per_gather";
  assertEquals((await query(await open(), show)).rows, [["0"]]);
  assertEquals((await query(await open({ maxParallelWorkers: 2 }), show)).rows, [["2"]]);
});

test("a filter of nested relations took a second, which Postgres spent on machine code", async (open) => {
  assertEquals((await query(await open(), "SHOW jit")).rows, [["off"]]);
});

test("a read that waited for its turn had its whole time once more", async (open) => {
  const driver = await open({ maxConnections: 2, maxReadConnections: 1 });
  const first = fails(read(driver, sleep, { timeoutMs: 400 }), "too-slow");
  const beganAt = performance.now();
  await fails(read(driver, sleep, { timeoutMs: 700 }), "overloaded");
  assert(performance.now() - beganAt < 4_000);
  await first;
});

test("a read that a pooler's server runs is ended, too", async (open) => {
  const driver = await open({ maxConnections: 1 }, "?prepare=false");
  const observer = await open({ maxConnections: 1 });
  await fails(read(driver, sleep, { timeoutMs: 20 }), "too-slow");
  assertEquals(await sleeping(observer), 0);
  assertEquals((await query(driver, "SELECT 1")).rows, [["1"]]);
});

test("a cancellation hits the next statement on its connection", async (open) => {
  const driver = await open({ maxConnections: 1 });
  for (let n = 0; n < 60; n++) {
    // Ends about when it is cancelled.
    const ending = read(driver, `SELECT pg_sleep(${n % 12} / 1000.0)`, { timeoutMs: 5 });
    // Beside other work the connection itself may come later than that.
    await ending.catch(({ kind }) => assert(["too-slow", "overloaded"].includes(kind), kind));
    assertEquals((await query(driver, "SELECT 1 FROM pg_sleep(0.01)")).rows, [["1"]]);
  }
});

test("rows of a gigabyte are read into the memory of the process", async (open) => {
  const driver = await open({ maxConnections: 2 });
  await runScript(driver, "CREATE SEQUENCE made;\n");
  const gigabyte = "SELECT nextval('made'), repeat('x', 100000) FROM generate_series(1, 10000)";
  await fails(read(driver, gigabyte, { maxBytes: 1_000_000 }), "too-large");
  const { rows } = await query(driver, "SELECT last_value FROM made");
  // Ten rows are held; some more are on their way when the statement is cancelled.
  assert(Number(rows[0]?.[0]) < 2_000, String(rows));
  assertEquals((await query(driver, "SELECT 1")).rows, [["1"]]);
});

test("the server's own time limit for a read looks like an outage", async (open) => {
  const driver = await open({ statementTimeoutMs: 300 });
  await fails(read(driver, sleep), "too-slow");
});

test("a lock and the end of the server look like a read that is too slow", async (open) => {
  const [holder, driver] = [await open(), await open({ waitLimitMs: 500 })];
  await query(holder, "CREATE TABLE t (n int)");
  await holder.transaction(async (connection) => {
    await connection.query({ text: "LOCK TABLE t", values: [] });
    await fails(read(driver, "SELECT n FROM t"), "unavailable");
  });
  const outcome = fails(read(driver, sleep), "unavailable");
  await untilTrue(async () => await sleeping(holder) === 1);
  await query(holder, `SELECT pg_terminate_backend(pid) FROM (${sleepers}) sleepers`);
  await outcome;
});

testOnPostgres(
  "a read whose cancel requests do not arrive failed by an error of the code",
  async (url) => {
    await using proxy = withoutCancelRequests(url);
    const holder = await openPostgres(url);
    const driver = await openPostgres(proxy.url, { waitLimitMs: 2_000 });
    try {
      await query(holder, "CREATE TABLE t (n int)");
      await holder.transaction(async (connection) => {
        await connection.query({ text: "LOCK TABLE t", values: [] });
        await fails(read(driver, "SELECT n FROM t", { timeoutMs: 300 }), "unavailable");
        // Without a connection, nothing shows that the read waits for a lock.
        proxy.refuse();
        await fails(read(driver, "SELECT n FROM t", { timeoutMs: 300 }), "too-slow");
      });
    } finally {
      await Promise.all([driver.close(), holder.close()]);
    }
  },
);

test("a list that waited for a lock was too expensive or unavailable, by chance", async (open) => {
  const [holder, driver] = [await open(), await open({ waitLimitMs: 20_000, maxConnections: 3 })];
  await query(holder, "CREATE TABLE t (n int)");
  await holder.transaction(async (connection) => {
    await connection.query({ text: "LOCK TABLE t", values: [] });
    const ends = Array.from(
      { length: 3 },
      (_, n) =>
        read(driver, "SELECT n FROM t", { timeoutMs: 300, identity: `reader ${n}` })
          .then(() => "read", ({ kind }) => kind),
    );
    // Where opening a connection takes most of the time, the read is one of too many.
    for (const end of await Promise.all(ends)) {
      assert(["unavailable", "overloaded"].includes(end), end);
    }
  });
  assertEquals((await read(driver, "SELECT n FROM t")).rows, []);
  await fails(read(driver, sleep, { timeoutMs: 300 }), "too-slow");
});

test("a read inside of a transaction of the same driver waits for itself", async (open) => {
  const driver = await open({ maxConnections: 1 });
  const outcome = await driver.transaction(() =>
    read(driver, "SELECT 1").then(() => "read", (error: Error) => error.message)
  );
  assert(outcome.startsWith("Cannot use the database inside its own transaction"), outcome);
});

/** A proxy in front of Postgres that passes all connections on except those of cancel requests. */
function withoutCancelRequests(target: string): AsyncDisposable & {
  readonly url: string;
  refuse(): void;
} {
  const { hostname, port } = new URL(target);
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const open = new Set<Deno.Conn>();
  let isRefusing = false;
  async function serve(client: Deno.Conn): Promise<void> {
    const start = new Uint8Array(1024);
    const length = await client.read(start) ?? 0;
    const code = new DataView(start.buffer).getInt32(4);
    if (isRefusing || code === 80877102) return client.close();
    const server = await Deno.connect({ hostname, port: Number(port) });
    for (const connection of [client, server]) open.add(connection);
    await server.write(start.subarray(0, length));
    await Promise.allSettled([
      client.readable.pipeTo(server.writable),
      server.readable.pipeTo(client.writable),
    ]);
    for (const connection of [client, server]) open.delete(connection);
  }
  const accepting = (async () => {
    const running: Promise<void>[] = [];
    for await (const client of listener) running.push(serve(client));
    await Promise.all(running);
  })();
  const url = new URL(target);
  url.port = String(listener.addr.port);
  return {
    url: url.href,
    refuse: () => void (isRefusing = true),
    async [Symbol.asyncDispose]() {
      listener.close();
      for (const connection of open) connection.close();
      await accepting;
    },
  };
}

const sleep = "SELECT pg_sleep(20)";

const sleepers = `SELECT pid FROM pg_stat_activity
  WHERE datname = current_database() AND wait_event = 'PgSleep'`;

async function sleeping(driver: Driver): Promise<number> {
  return (await query(driver, sleepers)).rows.length;
}

async function read(driver: Driver, text: string, limits: Partial<ReadLimits> = {}) {
  const signal = limits.signal ?? new AbortController().signal;
  return await driver
    .reads({ identity: "reader", maxBytes: 1_000_000, timeoutMs: 10_000, ...limits, signal })
    .query({ text, values: [] });
}

async function query(driver: Driver, text: string) {
  return await driver.query({ text, values: [] });
}

async function untilTrue(condition: () => Promise<boolean>): Promise<void> {
  for (let attempt = 0; attempt < 200; attempt++) {
    if (await condition()) return;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  throw new Error("It did not come true in time");
}
