import { assertEquals, assertStringIncludes } from "@std/assert";
import { createMetrics } from "../../../exports/observability.ts";
import { openDatabase } from "../../../mod.ts";
import { openPostgres } from "../../../src/db/postgres/postgres_js_driver.ts";
import { registerPartMetrics } from "../../../src/service/observability/part_metrics.ts";
import { testOnPostgres } from "../../support/postgres_tests.ts";
import { withObservedService } from "./observed_service.ts";

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
  let dead = 2;
  const stop = registerPartMetrics(metrics, {
    hubs: { all: () => [] },
    databases: [],
    outbox: {
      stats: () => Promise.resolve({ pending: 5, ready: 3, leased: 2, dead, oldestAgeMs: 1_500 }),
    },
  });
  const text = await metrics.text();
  assertStringIncludes(text, 'resource_api_search_outbox_entries{state="pending"} 5\n');
  assertStringIncludes(text, 'resource_api_search_outbox_entries{state="dead"} 2\n');
  assertStringIncludes(text, "resource_api_search_outbox_oldest_age_seconds 1.5\n");
  stop();
  dead = 9;
  assertEquals(await metrics.text(), text);
});
