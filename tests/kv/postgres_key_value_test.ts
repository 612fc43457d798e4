import { assert, assertEquals, assertRejects } from "@std/assert";
import { KvLedger } from "../../src/billing/ledger/kv_ledger.ts";
import type { Driver } from "../../src/db/driver.ts";
import { openStoreByUrl } from "../../src/engines/open_driver.ts";
import { openPostgres } from "../../src/engines/postgres/driver/postgres_js_driver.ts";
import {
  openPostgresKeyValue,
  type PostgresKeyValueOptions,
} from "../../src/engines/postgres/kv/open_postgres_key_value.ts";
import type { KeyValue, KeyValueKey, KeyValueMutation } from "../../src/kv/key_value.ts";
import { StoreError } from "../../src/kv/store_error.ts";
import type { Runtime } from "../../src/runtime/runtime.ts";
import { systemRuntime } from "../../src/runtime/system_runtime.ts";
import { untilAnswered } from "../billing/ledger_model.ts";
import { claim, set } from "../conformance/key_value.ts";
import { runChild, startChild } from "../serve/child_process.ts";
import { createScratchDatabase } from "../support/engines.ts";
import { missingPostgres, startMortalPostgres } from "../support/mortal_postgres.ts";
import { pgbouncerForTests, startPgbouncer } from "../support/pgbouncer.ts";
import { postgresStores } from "../support/postgres_stores.ts";
import { testPostgres, testUnless } from "../support/skip.ts";
import { cuttingProxy } from "./cutting_proxy.ts";

const stores = postgresStores();
const system = systemRuntime(() => {});

/** A test over a fresh store. */
function test(name: string, work: (store: KeyValue) => Promise<void>): void {
  testUnless(stores.missing, `postgres: ${name}`, async () => {
    const store = await stores.open();
    try {
      await work(store);
    } finally {
      await store.close();
    }
  });
}

/** A test over the database of the file. */
function testOnDatabase(name: string, work: (url: string, driver: Driver) => Promise<void>): void {
  testUnless(stores.missing, `postgres: ${name}`, async () => {
    const url = await stores.url();
    const driver = await openPostgres(url, { maxConnections: 2 });
    try {
      await work(url, driver);
    } finally {
      await driver.close();
    }
  });
}

async function cellOf(driver: Driver, text: string): Promise<string> {
  return String((await driver.query({ text, values: [] })).rows[0]?.[0]);
}

test("two commits that each check the absence of what the other sets never both succeed", async (store) => {
  for (let round = 0; round < 40; round++) {
    const [a, b] = [["skew", round, "a"], ["skew", round, "b"]] as const;
    const crossed = (checked: KeyValueKey, key: KeyValueKey) =>
      store.commit({
        checks: [{ key: checked, versionstamp: null }],
        mutations: [{ kind: "set", key, value: 1 }],
      });
    const results = await Promise.all([crossed(a, b), crossed(b, a)]);
    assertEquals(results.filter(({ ok }) => ok).length, 1, `round ${round}`);
  }
});

/** Moves amounts between six accounts; 16 callers take the accounts in any order. */
async function transfer(store: KeyValue, each: number): Promise<void> {
  for (let n = 0; n < 6; n++) await set(store, ["account", n], 100);
  await Promise.all(Array.from({ length: 16 }, async (_, caller) => {
    for (let done = 0, tries = caller; done < each; tries++) {
      const keys = [0, 2, 5].map((step) => ["account", (caller + tries * step) % 6]);
      const read = await store.getMany([...new Map(keys.map((key) => [key[1], key])).values()]);
      const share = read.length - 1;
      const { ok } = await store.commit({
        checks: read.map(({ key, versionstamp }) => ({ key, versionstamp })),
        mutations: read.map(({ key, value }, index): KeyValueMutation => ({
          ...{ kind: "set", key, value: Number(value) + (index === 0 ? -share : 1) },
        })),
      });
      if (ok) done++;
    }
  }));
  const all = await store.list({ prefix: ["account"], limit: 10 });
  assertEquals(all.reduce((sum, { value }) => sum + Number(value), 0), 600);
}

test("16 callers move amounts between accounts in any order: no deadlock, and the sum stays", async (store) => {
  await transfer(store, 6);
});

test("a commit with more keys than locks excludes all others", async (store) => {
  for (let round = 0; round < 8; round++) {
    const many = (value: number) =>
      store.commit({
        checks: [{ key: ["n", round, 0], versionstamp: null }],
        mutations: Array.from(
          { length: 200 },
          (_, n) => ({ kind: "set", key: ["n", round, n], value } as const),
        ),
      });
    const results = await Promise.all([many(1), many(2), claim(store, ["n", round, 0], 3)]);
    assertEquals(results.filter(({ ok }) => ok).length, 1);
    const all = await store.list({ prefix: ["n", round], limit: 1_000 });
    assertEquals(new Set(all.map(({ value }) => value)).size, 1);
  }
});

testUnless(stores.missing, "postgres: two processes on one hot key lose no change", async () => {
  const script = new URL("hot_keys_process.ts", import.meta.url).pathname;
  const url = await stores.url();
  const ends = await Promise.all([1, 2].map(() => runChild([script, url, "2"])));
  const counts = ends.map(({ stdout, stderr }) => {
    const [, changes, claims] = /done (\d+) (\d+)/.exec(stdout) ?? [];
    assert(changes !== undefined, stderr);
    return [Number(changes), Number(claims)] as const;
  });
  const total = (index: 0 | 1) => counts.reduce((sum, count) => sum + count[index], 0);
  const store = await openPostgresKeyValue(url);
  const read = await store.getMany([["hot"], ["warm", 0], ["warm", 1], ["warm", 2]]);
  await store.close();
  assertEquals(read.reduce((sum, { value }) => sum + Number(value), 0), total(0));
  assertEquals([total(0), total(1)], [440, 20]);
});

testOnDatabase(
  "a lost acknowledgement: the version of the claim shows that the commit happened",
  async (url) => {
    await using proxy = await cuttingProxy(url);
    const store = await openPostgresKeyValue(proxy.url, { schema: "cut" });
    await set(store, ["warm"], 1);
    proxy.cutAfter("lost");
    assertEquals([(await claim(store, ["lost", 1], "mine")).ok, proxy.cuts()], [true, 1]);
    assertEquals((await claim(store, ["lost", 1], "other")).ok, false);
    assertEquals((await store.get(["lost", 1])).value, "mine");
    proxy.cutAfter("lost");
    const error = await assertRejects(() => set(store, ["lost", 2], 1), StoreError);
    assertEquals([error.kind, proxy.cuts()], ["unknown-outcome", 1]);
    assertEquals((await store.get(["lost", 2])).value, 1);
    await store.close();
  },
);

testOnDatabase("a claim of a refused request is no claim, and is removed", async (url, driver) => {
  await using proxy = await cuttingProxy(url);
  const timers: (() => void)[] = [];
  // With each cut most of the time is over, so that the store soon ceases to ask.
  let jumps = 0;
  const clock: Runtime["clock"] = {
    ...system.clock,
    elapsedMs() {
      jumps = Math.max(jumps, proxy.cuts());
      return system.clock.elapsedMs() + jumps * 2_800;
    },
    after(delayMs, work) {
      if (delayMs !== 4_000) return system.clock.after(delayMs, work);
      timers.push(work);
      return () => {};
    },
  };
  const store = await openPostgresKeyValue(proxy.url, { schema: "refused" }, { ...system, clock });
  await set(store, ["warm"], 1);
  const claiming = (key: KeyValueKey) =>
    store.commit({
      checks: [{ key, versionstamp: null }],
      mutations: [{ kind: "set", key, value: 1 }],
      claim: key,
      isProvisional: true,
    });
  // Every connection is cut, so that the store cannot find out.
  proxy.cutAfter("lost", Infinity);
  for (const key of [["lost", 1], ["lost", 2]]) {
    assertEquals((await assertRejects(() => claiming(key), StoreError)).kind, "unknown-outcome");
  }
  proxy.cutAfter(null);
  const count = () => cellOf(driver, "SELECT count(*) FROM refused._service_kv");
  assertEquals([await count(), (await store.get(["lost", 1])).value], ["3", undefined]);
  assertEquals((await claiming(["lost", 1])).ok, true);
  for (const remove of timers) await remove();
  assertEquals([await count(), (await store.get(["lost", 1])).value], ["2", 1]);
  assertEquals((await claiming(["lost", 1])).ok, false);
  assertEquals((await claiming(["lost", 2])).ok, true);
  await store.close();
});

testOnDatabase(
  "a commit whose deadline has passed by the server's clock is not done",
  async (url, driver) => {
    let lagMs = 0;
    const clock = { ...system.clock, elapsedMs: () => system.clock.elapsedMs() - lagMs };
    const store = await openPostgresKeyValue(url, { schema: "late" }, { ...system, clock });
    await set(store, ["a"], 1);
    const call = (server: string, until: string) =>
      cellOf(
        driver,
        `CALL late._service_kv_commit('{}', '{}', '{}', '{"\\\\x01"}', '{"\\\\x02"}', '{NULL}', '{}',
        '\\x03', 0, ${server}, ${until}, NULL)`,
      );
    const server = "extract(epoch FROM pg_postmaster_start_time())::text";
    const now = "(extract(epoch FROM clock_timestamp()) * 1000)::bigint";
    assertEquals(await call(server, `${now} - 1`), "null");
    assertEquals(await call("'another server'", `${now} + 9000`), "null");
    assertEquals(await cellOf(driver, "SELECT count(*) FROM late._service_kv"), "1");
    assertEquals(await call(server, `${now} + 9000`), "t");
    // The clocks differ by a minute more than they did: the store compares them again.
    lagMs = 60_000;
    assertEquals((await claim(store, ["b"], 1)).ok, true);
    await store.close();
  },
);

testOnDatabase("connections that never get a response are replaced", async (url) => {
  await using proxy = await cuttingProxy(url);
  // Ten times as fast as the machine's.
  const clock: Runtime["clock"] = {
    ...system.clock,
    elapsedMs: () => system.clock.elapsedMs() * 10,
    after: (delayMs, work) => system.clock.after(delayMs / 10, work),
  };
  const store = await openPostgresKeyValue(
    proxy.url,
    { schema: "frozen", maxConnections: 1 },
    { ...system, clock },
  );
  await set(store, ["a"], 1);
  proxy.freeze();
  while (await store.get(["a"]).then(() => false, (error) => error instanceof StoreError));
  assertEquals((await claim(store, ["b"], 1)).ok, true);
  await store.close();
});

testOnDatabase("expired records are deleted, and others stay", async (url, driver) => {
  let aheadMs = 0;
  const clock = { ...system.clock, now: () => system.clock.now() + aheadMs };
  const open = () => openPostgresKeyValue(url, { schema: "sweep" }, { ...system, clock });
  const first = await open();
  for (let n = 0; n < 5; n++) await set(first, ["short", n], n, 1_000);
  await set(first, ["long"], 1, 3_600_000);
  await set(first, ["endless"], 1);
  await first.close();
  aheadMs = 601_000;
  const second = await open();
  await set(second, ["another"], 1);
  const count = () => cellOf(driver, "SELECT count(*) FROM sweep._service_kv");
  while (await count() !== "3");
  assertEquals((await second.list({ prefix: [], limit: 9 })).length, 3);
  await second.close();
});

testOnDatabase("no commit and no read scans the table", async (url, driver) => {
  const store = await openPostgresKeyValue(url, { schema: "plans" });
  await set(store, ["a"], 1);
  // With so few rows, a scan is the cheapest plan, which a connection would keep.
  await driver.query({ text: "ANALYZE plans._service_kv", values: [] });
  const scans = await driver.transaction(async (connection) => {
    await connection.query({
      text: `CALL plans._service_kv_commit('{1}', '{"\\\\x01"}', '{NULL}', '{"\\\\x01","\\\\x02"}',
        '{"\\\\x02",NULL}', '{NULL,NULL}', '{}', '\\x03', 0,
        extract(epoch FROM pg_postmaster_start_time())::text, 9000000000000, NULL)`,
      values: [],
    });
    const text =
      "SELECT seq_scan, idx_scan FROM pg_stat_xact_user_tables WHERE schemaname = 'plans'";
    return (await connection.query({ text, values: [] })).rows[0]?.map(Number);
  });
  assertEquals(scans?.[0], 0);
  assert(Number(scans?.[1]) > 0);
  await store.close();
});

testUnless(
  stores.missing,
  "postgres: beside a transaction that stays open in another database, the table stays small",
  async () => {
    const server = testPostgres();
    if ("missing" in server) throw new Error(server.missing);
    const other = await createScratchDatabase(server.url);
    const reader = await openPostgres(other.url, { maxConnections: 1 });
    const store = await stores.open();
    const driver = await openPostgres(await stores.url(), { maxConnections: 1 });
    try {
      await reader.transaction(async (connection) => {
        const text = "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ";
        await connection.query({ text, values: [] });
        await connection.query({ text: "SELECT count(*) FROM pg_class", values: [] });
        const keys = Array.from({ length: 40 }, (_, n) => ["bucket", n]);
        const change = (expireInMs: number) =>
          store.commit({
            mutations: keys.map((key): KeyValueMutation => ({
              ...{ kind: "set", key, value: { tokens: expireInMs }, expireInMs },
            })),
          });
        await change(60_000);
        const size = () =>
          cellOf(
            driver,
            `SELECT sum(pg_relation_size(c.oid)) FROM pg_class c
        WHERE relname = '_service_kv' AND pg_relation_size(c.oid) > 0
          AND relnamespace = (SELECT max(oid) FROM pg_namespace WHERE nspname LIKE 'store_%')`,
          );
        const before = Number(await size());
        for (let n = 0; n < 100; n++) await change(60_000 + n);
        // 4,000 updates, of which each would need a place of its own.
        assert(Number(await size()) <= before + 4 * 8_192, `${before} → ${await size()}`);
      });
    } finally {
      for (const one of [driver, reader, store]) await one.close();
      await other.drop();
    }
  },
);

testOnDatabase(
  "wrong settings and missing rights are errors that say what to do",
  async (url, driver) => {
    const run = (text: string) => driver.query({ text, values: [] });
    const role = `kv_${crypto.randomUUID().replaceAll("-", "")}`;
    await run(`CREATE ROLE ${role} LOGIN`);
    const own = new URL(url);
    own.username = role;
    const open = (options: PostgresKeyValueOptions, place = own.href) =>
      openPostgresKeyValue(place, options, system);
    const subject = "Cannot open the key-value store: ";
    try {
      await run("CREATE SCHEMA owned");
      await run(`GRANT USAGE ON SCHEMA owned TO ${role}`);
      await assertRejects(
        () => open({ schema: "owned" }),
        Error,
        `${subject}the role may not create tables in the schema "owned"`,
      );
      await (await open({ schema: "owned" }, url)).close();
      await run(`GRANT SELECT ON owned._service_kv TO ${role}`);
      await assertRejects(
        () => open({ schema: "owned" }),
        Error,
        `${subject}the role lacks a right to the store: ` +
          'GRANT SELECT, INSERT, UPDATE, DELETE ON "owned"."_service_kv"',
      );
      await run(`GRANT INSERT, UPDATE, DELETE ON owned._service_kv TO ${role}`);
      await run("REVOKE EXECUTE ON PROCEDURE owned._service_kv_commit FROM PUBLIC");
      await assertRejects(
        () => open({ schema: "owned" }),
        Error,
        'and EXECUTE ON PROCEDURE "owned"."_service_kv_commit"',
      );
      await run(`GRANT EXECUTE ON PROCEDURE owned._service_kv_commit TO ${role}`);
      const store = await open({ schema: "owned" });
      assertEquals((await claim(store, ["a"], 1)).ok, true);
      await store.close();
      // A table that is gone is made again, although its procedure is still there.
      await run("DROP TABLE owned._service_kv");
      const again = await open({ schema: "owned" }, url);
      assertEquals((await claim(again, ["a"], 1)).ok, true);
      await again.close();
      await run(`GRANT SELECT, INSERT, UPDATE, DELETE ON owned._service_kv TO ${role}`);
      await run(`ALTER ROLE ${role} SET default_transaction_isolation = 'serializable'`);
      await assertRejects(
        () => open({ schema: "owned" }),
        Error,
        `${subject}its default_transaction_isolation is "serializable": set it for the role`,
      );
      own.pathname = "/missing";
      await assertRejects(() => openStoreByUrl(own.href, system), Error, 'database "missing"');
      await assertRejects(
        () => openStoreByUrl(`${url}?sslmod=disable`, system),
        Error,
        `${subject}there is no parameter sslmod. Did you mean "sslmode"?`,
      );
      await assertRejects(() => open({ schema: 'a"b' }), Error, "schema");
      await assertRejects(() => open({ maxConnections: 0 }), Error, "maxConnections");
    } finally {
      await run(`DROP OWNED BY ${role}`);
      await run(`DROP ROLE ${role}`);
    }
  },
);

const pgbouncer = await pgbouncerForTests();

testUnless(
  stores.missing ?? ("missing" in pgbouncer ? pgbouncer.missing : null),
  "postgres: a store through a pooler in transaction mode",
  async () => {
    if ("missing" in pgbouncer) throw new Error(pgbouncer.missing);
    await using pooler = await startPgbouncer(pgbouncer.path, await stores.url());
    const store = await openPostgresKeyValue(`${pooler.url}?prepare=false`, { schema: "pooled" });
    const results = await Promise.all(
      Array.from({ length: 40 }, (_, n) => claim(store, ["claimed", n >> 2], n)),
    );
    assertEquals(results.filter(({ ok }) => ok).length, 10);
    await transfer(store, 3);
    await store.close();
  },
);

testUnless(
  missingPostgres,
  "postgres: a server that is not there at the start is found later; kill -9 and a crash lose and repeat nothing",
  async () => {
    await using server = await startMortalPostgres({ fsync: "on" });
    await server.stop();
    const seen: string[] = [];
    const runtime = systemRuntime((one) =>
      seen.push(one.kind === "notice" ? one.message : one.kind)
    );
    const store = await openPostgresKeyValue(server.url, {}, runtime);
    assert(/^the key-value store postgres:.* cannot be reached now: /.test(seen.join()), `${seen}`);
    const refused = await assertRejects(() => store.get(["a"]), StoreError);
    assertEquals(refused.kind, "unavailable");
    await server.start();
    assertEquals((await untilAnswered(() => store.get(["a"]))).value, undefined);

    const ledger = new KvLedger(store, runtime);
    const script = new URL("postgres_ledger_process.ts", import.meta.url).pathname;
    await using child = startChild([script, server.url]);
    let done = 0;
    const work = Promise.all(Array.from({ length: 8 }, async (_, caller) => {
      for (let n = 0; n < 16; n++) {
        const key = `${caller} ${n}`;
        await untilAnswered(() => ledger.grant("ada", 3, { key: `grant:x:${key}` }));
        await untilAnswered(() => ledger.consume("ada", 2, { key }));
        done++;
      }
    }));
    for (const at of [20, 60]) {
      await child.printed(new RegExp(`done ${at / 10}\\n`));
      while (done < at) await new Promise((resolve) => setTimeout(resolve, 5));
      if (at === 60) child.signal("SIGKILL");
      await server.crash();
      await server.start();
    }
    await work;
    await child.ended();
    // What the killed process has done is repeated with its keys, and done once. The kill
    // interrupted the turn after the last one that is printed.
    const turns = child.stdout().split("done").length;
    for (let n = 0; n < turns; n++) {
      await untilAnswered(() => ledger.grant("bob", 3, { key: `grant:y:${n}` }));
      await untilAnswered(() => ledger.consume("bob", 2, { key: `${n}` }));
    }
    const audits = await ledger.audit();
    assertEquals(
      audits.map(({ account, balance, entries, faults }) => [account, balance, entries, faults]),
      [["ada", 128, 256, []], ["bob", turns, 2 * turns, []]],
    );
    await store.close();
  },
);
