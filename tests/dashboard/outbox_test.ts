import { assertEquals } from "@std/assert";
import { createApp, openDatabase } from "../../mod.ts";
import { createMemoryKeyValue } from "../../src/kv/memory_key_value.ts";
import { systemClock, systemRuntime } from "../../src/runtime/system_runtime.ts";
import { createBrowserTests } from "../client/browser/in_browser.ts";
import { fallibleSearch, notes, servedNotes } from "../http/search_support.ts";
import { openWatched } from "./watched_page.ts";

const test = createBrowserTests();

test("a dead entry of the outbox is looked at and replayed", async ({ context }) => {
  const search = fallibleSearch();
  const db = await openDatabase("sqlite::memory:");
  await db.createTables([notes]);
  const app = await createApp({
    ...servedNotes({ search: { outbox: true } }),
    ...{ db, search: search.adapter, kv: createMemoryKeyValue(systemClock), adminUI: true },
    runtime: { ...systemRuntime(() => {}), cron: undefined },
    searchOutbox: { intervalMs: 3_600_000, maxAttempts: 1 },
  });
  const server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    (request, info) => app.fetch(request, info),
  );
  const url = `http://127.0.0.1:${server.addr.port}/__service/ui`;
  search.isDown = true;
  const created = await fetch(`${url}/api/notes`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ id: 1, ownerId: "ada", title: "tea" }),
  });
  assertEquals(created.status, 201, await created.text());
  await app.searchOutbox?.drain();
  const { page, done } = await openWatched(context, `${url}#/outbox`);
  await page.getByText("it is down").waitFor();
  search.isDown = false;
  await page.getByRole("button", { name: "Replay", exact: true }).click();
  await page.getByText("Nothing was given up.").waitFor();
  await app.searchOutbox?.drain();
  assertEquals((await app.searchOutbox?.stats())?.pending, 0);
  await done();
  await server.shutdown();
  await app.close();
  await db.close();
});
