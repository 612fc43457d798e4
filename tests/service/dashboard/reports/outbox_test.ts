import { assertEquals } from "@std/assert";
import { createMemoryKeyValue } from "../../../../src/kv/memory_key_value.ts";
import { systemClock } from "../../../../src/runtime/system_runtime.ts";
import {
  createNotes,
  fallibleSearch,
  find,
  notes,
  servedNotes,
} from "../../../http/search_support.ts";
import { anyEngine, withDashboard } from "./dashboard_service.ts";

Deno.test("the outbox is counted, and dead entries are replayed by their ids, or all", () => {
  const search = fallibleSearch();
  return withDashboard(anyEngine, [notes], () => ({
    ...servedNotes({ search: { outbox: true } }),
    ...{ search: search.adapter, kv: createMemoryKeyValue(systemClock) },
    searchOutbox: { intervalMs: 3_600_000, maxAttempts: 1 },
  }), async (service) => {
    const { report, action, app: { searchOutbox } } = service;
    await find(service, "q=nothing");
    search.isDown = true;
    await createNotes(service, [1, 2, 3].map((id) => ({ id, title: "tea" })));
    await searchOutbox?.drain();
    const { stats, dead } = await report("outbox");
    assertEquals([stats.pending, stats.dead], [0, 3]);
    const [first] = dead;
    assertEquals(
      dead.map(({ id, key, attempts, lastError }: Record<string, unknown>) => [
        ...[id, key, attempts, lastError],
      ]).toSorted(),
      ["1", "2", "3"].map((key) => [`notes/${key}`, key, 1, "it is down"]),
    );
    search.isDown = false;
    assertEquals((await action("outbox-replay", { ids: [first.id, "notes/none"] })).body, {
      replayed: 1,
    });
    await searchOutbox?.drain();
    assertEquals((await find(service, "q=tea")).ids.map(String), [first.key]);
    assertEquals((await action("outbox-replay", { ids: "all" })).body, { replayed: 2 });
    await searchOutbox?.drain();
    assertEquals((await find(service, "q=tea")).total, 3);
    for (const ids of [undefined, 7, ["x"], [7], ["%/1"], "some"]) {
      assertEquals((await action("outbox-replay", { ids })).status, 400);
    }
    const { entries } = await report("audit");
    assertEquals(
      entries.map(({ path, status }: { path: string; status: number }) => [path, status]),
      [
        ...[["/action/outbox-replay", 200], ["/action/outbox-replay", 200]],
      ],
    );
  });
});
