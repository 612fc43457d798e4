import { assertEquals, assertStringIncludes } from "@std/assert";
import { createMetrics } from "../../../exports/observability.ts";
import type { KeyValue } from "../../../exports/kv.ts";
import { memorySearch } from "../../../exports/search.ts";
import { all, openDatabase, resource } from "../../../mod.ts";
import { createMemoryKeyValue } from "../../../src/kv/memory_key_value.ts";
import { systemClock, systemRuntime } from "../../../src/runtime/system_runtime.ts";
import { openPostgres } from "../../../src/engines/postgres/driver/postgres_js_driver.ts";
import { registerComponentMetrics } from "../../../src/service/observability/component_metrics.ts";
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
    assertEquals(await value(`db_client_connection_pending_requests{${pool}}`), 0);
    assertEquals(await value(`resource_api_db_pool_wait_seconds_total{${pool}}`) > 0, true);
    assertEquals(driver.label.includes("@"), false, "it has neither user nor password");
  });
});

Deno.test("the search outbox is counted by state, until the app is closed", async () => {
  const metrics = createMetrics();
  const stop = registerComponentMetrics(metrics, {
    hubs: { all: () => [] },
    databases: [],
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
