import { assertEquals, assertStringIncludes } from "@std/assert";
import { createMetrics } from "../../../exports/observability.ts";
import type { KeyValue } from "../../../exports/kv.ts";
import { memorySearch } from "../../../exports/search.ts";
import { all, openDatabase, resource } from "../../../mod.ts";
import { createMemoryKeyValue } from "../../../src/kv/memory_key_value.ts";
import { StoreError } from "../../../src/kv/store_error.ts";
import { systemClock, systemRuntime } from "../../../src/runtime/system_runtime.ts";
import { openPostgres } from "../../../src/engines/postgres/driver/postgres_js_driver.ts";
import { registerComponentMetrics } from "../../../src/service/observability/component_metrics.ts";
import { registerProcessMetrics } from "../../../src/service/observability/process_metrics.ts";
import { handClock } from "../../db/hand_clock.ts";
import { noCounts } from "../../../src/live/stream/stream_counts.ts";
import manifest from "../../../deno.json" with { type: "json" };
import { testOnPostgres } from "../../support/postgres_tests.ts";
import { notes, type ObservedService, withObservedService } from "./observed_service.ts";

testOnPostgres("the connections of the pool are counted, and what waits for them", async (url) => {
  const driver = await openPostgres(url, { maxConnections: 1 });
  const db = await openDatabase(driver);
  await withObservedService({ db }, async ({ send, value }) => {
    const pool = `db_client_connection_pool_name="${driver.label}"`;
    const count = (state: string) =>
      value(`db_client_connection_count{${pool},db_client_connection_state="${state}"}`);
    const held = Promise.withResolvers<void>();
    const transaction = db.transaction(() => held.promise);
    // In its turn of the pool before the request.
    const waiting = send("GET", "/api/notes");
    while (await value(`db_client_connection_pending_requests{${pool}}`) === 0) {
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
    assertEquals([await count("used"), await count("idle")], [1, 0]);
    const waits = await value(`resource_api_db_pool_waits_total{${pool}}`);
    assertEquals(waits >= 1, true);
    held.resolve();
    await transaction;
    assertEquals((await waiting).status, 200);
    // The queries of the readings above may still wait in the pool.
    while (await value(`db_client_connection_pending_requests{${pool}}`) > 0);
    assertEquals(await value(`resource_api_db_pool_wait_seconds_total{${pool}}`) > 0, true);
    assertEquals(driver.label.includes("@"), false, "it has neither user nor password");
  });
});

Deno.test("the search outbox is counted by state, until the app is closed", async () => {
  const metrics = createMetrics();
  const stop = registerComponentMetrics(metrics, {
    hubs: { all: () => [] },
    databases: [],
    clock: systemClock,
    outbox: {
      stats: () =>
        Promise.resolve({ pending: 5, ready: 3, leased: 2, dead: 2, oldestAgeMs: 1_500 }),
    },
  });
  const text = await metrics.text();
  assertStringIncludes(text, 'resource_api_search_outbox_entries{state="pending"} 5\n');
  assertStringIncludes(text, 'resource_api_search_outbox_entries{state="dead"} 2\n');
  assertStringIncludes(text, "resource_api_search_outbox_oldest_age_seconds 1.5\n");
  stop();
  assertStringIncludes(
    await metrics.text(),
    'resource_api_search_outbox_entries{state="pending"} 0\n',
  );
});

Deno.test("while the store of the search outbox is down, everything else can be read", async () => {
  const memory = createMemoryKeyValue(systemClock);
  let isDown = false;
  const kv: KeyValue = {
    ...memory,
    list: (page) => isDown ? Promise.reject(new Error("the store is down")) : memory.list(page),
  };
  const served = resource(notes, {
    id: notes.id,
    auth: { public: { read: true }, create: () => all() },
    search: { outbox: true },
  });
  await withObservedService({
    ...{ kv, search: memorySearch(), resources: [served] },
    searchOutbox: { intervalMs: 3_600_000 },
    runtime: { ...systemRuntime(() => {}), cron: undefined },
  }, async ({ send, value }) => {
    await send("POST", "/api/notes", { body: { title: "x" }, headers: { "x-user": "ann" } });
    const pending = 'resource_api_search_outbox_entries{state="pending"}';
    assertEquals(await value(pending), 1);
    isDown = true;
    const answer = await send("GET", "/__service/metrics");
    assertEquals(answer.status, 200);
    const text = await answer.text();
    assertStringIncludes(text, `${pending} NaN\n`);
    assertStringIncludes(text, "resource_api_search_outbox_oldest_age_seconds NaN\n");
    assertStringIncludes(text, "process_resident_memory_bytes ");
    isDown = false;
    assertEquals(await value(pending), 1);
  });
});

Deno.test("apps with one registry add to its metrics, also one that takes the place of another", async () => {
  const registry = createMetrics();
  const observability = { metrics: { registry } };
  const open = 'resource_api_streams_open{kind="rows"}';
  const opened = 'resource_api_streams_opened_total{kind="rows"}';
  await withObservedService({ observability }, async (first) => {
    const subscribe = ({ send }: ObservedService) =>
      send("GET", "/api/notes/subscribe", { isStream: true });
    const streams = [await subscribe(first), await subscribe(first)];
    assertEquals([await first.value(open), await first.value(opened)], [2, 2]);
    for (let turn = 1; turn <= 2; turn++) {
      await withObservedService({ observability }, async (second) => {
        const stream = await subscribe(second);
        assertEquals([await first.value(open), await second.value(opened)], [3, 2 + turn]);
        await stream.body?.cancel();
      });
      assertEquals([await first.value(open), await first.value(opened)], [2, 2 + turn]);
    }
    for (const { body } of streams) await body?.cancel();
    assertEquals([await first.value(open), await first.value(opened)], [0, 4]);
  });
});

const changes = "resource_api_change_log_changes";
const oldest = "resource_api_change_log_oldest_age_seconds";

/** Compares the size of the log with what was written, also after a transaction was undone. */
async function compareLogSize({ send, value, metrics }: ObservedService): Promise<void> {
  assertEquals([await value(changes), await value(oldest)], [0, 0]);
  const headers = { "x-user": "ann" };
  for (const id of [1, 2, 3]) {
    await send("POST", "/api/notes", { body: { id, title: "x" }, headers });
  }
  assertEquals(await value(changes), 3);
  assertEquals(await value(oldest) >= 0, true);
  const up = (await metrics.snapshot()).find(({ name }) => name === "resource_api_db_up");
  assertEquals(up?.series.map((one) => one.value), [1]);
}

Deno.test("the changes of the log and the age of the oldest are measured on SQLite", () =>
  withObservedService({}, async (service) => {
    await compareLogSize(service);
  }));

testOnPostgres("the changes of the log and the age of the oldest are measured", async (url) => {
  const db = await openDatabase(url);
  await withObservedService({ db }, async (service) => {
    await compareLogSize(service);
    await db.sql`UPDATE _service_changes SET at = at - interval '1 hour' WHERE seq = 1`;
    const age = await service.value(oldest);
    assertEquals(age >= 3_600 && age < 3_700, true, String(age));
  });
});

Deno.test("while a database does not respond, its metrics say so, and all others can be read", async () => {
  const metrics = createMetrics();
  const { clock, advance } = handClock();
  const never = () => new Promise<never>(() => {});
  const down = { label: "down", query: () => Promise.reject(new Error("down")) };
  const hub = {
    counts: noCounts(),
    published: 0,
    logSize: never,
  };
  const stop = registerComponentMetrics(metrics, {
    hubs: { all: () => [hub] },
    databases: [down, { label: "silent", query: never }],
    outbox: null,
    clock,
  });
  const reading = metrics.text();
  await Promise.resolve();
  advance(1_000);
  const text = await reading;
  assertStringIncludes(text, 'resource_api_db_up{database="down"} 0\n');
  assertStringIncludes(text, 'resource_api_db_up{database="silent"} 0\n');
  assertStringIncludes(text, `${changes} NaN\n`);
  assertStringIncludes(text, `${oldest} NaN\n`);
  stop();
});

Deno.test("the errors of the key-value store are counted by their possible effect", async () => {
  const memory = createMemoryKeyValue(systemClock);
  let isDown = false;
  const fail = () => Promise.reject(new StoreError("unavailable", new Error("the store is down")));
  const kv: KeyValue = {
    ...memory,
    getMany: (keys) => isDown ? fail() : memory.getMany(keys),
    get: (key) => isDown ? fail() : memory.get(key),
    commit: (commit) => isDown ? fail() : memory.commit(commit),
  };
  await withObservedService({ kv }, async ({ send, value, metrics }) => {
    const errors = (kind: string) => value(`resource_api_store_errors_total{kind="${kind}"}`);
    assertStringIncludes(await metrics.text(), "resource_api_store_errors_total{");
    const post = () =>
      send("POST", "/api/notes", {
        body: { title: "x" },
        headers: { "x-user": "ann", "idempotency-key": '"k"' },
      });
    assertEquals((await post()).status, 201);
    assertEquals([await errors("unavailable"), await errors("unknown-outcome")], [0, 0]);
    isDown = true;
    assertEquals((await post()).status, 503);
    assertEquals(await errors("unavailable") > 0, true);
    assertEquals(await errors("unknown-outcome"), 0);
  });
});

Deno.test("the delay of the event loop is how late a timer runs", async () => {
  const metrics = createMetrics();
  const { clock, advance } = handClock();
  const stop = registerProcessMetrics(metrics, clock);
  advance(500);
  advance(2_300);
  stop();
  advance(9_000);
  const text = await metrics.text();
  assertStringIncludes(text, "resource_api_event_loop_delay_seconds_sum 1.8\n");
  assertStringIncludes(text, "resource_api_event_loop_delay_seconds_count 2\n");
  assertStringIncludes(text, `resource_api_build_info{version="${manifest.version}",host="deno"`);
});
