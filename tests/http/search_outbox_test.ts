import { assert, assertEquals } from "@std/assert";
import { all, createApp, openDatabase, resource } from "../../mod.ts";
import { type KeyValue, StoreError } from "../../exports/kv.ts";
import { memorySearch } from "../../exports/search.ts";
import { createMemoryKeyValue } from "../../src/kv/memory_key_value.ts";
import type { Observation } from "../../exports/runtime.ts";
import { runAfterPendingIo } from "../../src/runtime/runtime.ts";
import { systemClock, systemRuntime } from "../../src/runtime/system_runtime.ts";
import { handClock } from "../db/hand_clock.ts";
import { everyEngine } from "../support/engines.ts";
import { insertRows, type Service, withService } from "../support/http.ts";
import {
  as,
  createNotes,
  fallibleSearch,
  find,
  notes,
  type SearchEngine,
  servedNotes,
  testOnSearchEngines,
} from "./search_support.ts";

/** Never drained by itself within a test. */
const searchOutbox = { intervalMs: 3_600_000 };

/** Without the cron of Deno, which keeps waiting where a minute begins during a test. */
const runtime = { ...systemRuntime(() => {}), cron: undefined };

function withOutbox(
  { engine, adapter }: SearchEngine,
  work: (service: Service) => Promise<void>,
  options: Record<string, unknown> = {},
): Promise<void> {
  return withService(
    engine,
    [notes],
    () => ({
      ...servedNotes({ search: { outbox: true }, ...options }),
      ...{ search: adapter(), kv: ":memory:", searchOutbox },
    }),
    work,
  );
}

/** Drains until nothing is due, and gives how many entries were done. */
async function drain({ app }: Service): Promise<number> {
  assert(app.searchOutbox !== null);
  let sum = 0;
  for (let done = 1; done > 0; sum += done) ({ done } = await app.searchOutbox.drain());
  return sum;
}

testOnSearchEngines("the index follows every kind of write once it is drained", async (engine) => {
  await withOutbox(engine, async (service) => {
    const send = async (method: string, path: string, body: unknown, expected: number) => {
      const answer = await service.send(method, `/api/notes${path}`, body, as("ada"));
      assertEquals(answer.status, expected, JSON.stringify(answer.body));
    };
    // The first indexing is over: it would find what is written during it.
    await find(service, "q=nothing");
    await createNotes(service, [{ id: 1 }, { id: 2 }, { id: 3 }, { id: 4 }, { id: 5 }]);
    await send("POST", "", { id: 6, ownerId: "ada", title: "tea" }, 201);
    assertEquals(await find(service, "q=tea"), { ids: [], total: 0 });
    assertEquals(await drain(service), 6);
    assertEquals((await find(service, "q=tea")).ids, [6]);
    assertEquals((await find(service, "q=x")).total, 5);

    await send("PATCH", "/1", { title: "coffee" }, 200);
    await send("PUT", "/2", { ownerId: "ada", title: "coffee" }, 200);
    await send("DELETE", "/3", undefined, 204);
    await send("PATCH", "/batch", { filter: "id==4", patch: { title: "coffee" } }, 200);
    await send("DELETE", "/batch", { filter: "id==5" }, 200);
    await send("DELETE", "/6", undefined, 204);
    const { oldestAgeMs, ...stats } = await service.app.searchOutbox?.stats() ?? {};
    assertEquals(stats, { pending: 6, ready: 6, leased: 0, dead: 0 });
    assert(Number(oldestAgeMs) >= 0);
    assertEquals(await drain(service), 6);
    assertEquals((await find(service, "q=coffee")).ids.toSorted(), [1, 2, 4]);
    assertEquals((await find(service, "q=x")).total + (await find(service, "q=tea")).total, 0);

    // Several writes of one row are one entry.
    for (const title of ["one", "two", "three"]) await send("PATCH", "/1", { title }, 200);
    assertEquals(await drain(service), 1);
    assertEquals((await find(service, "q=three")).ids, [1]);
  });
});

testOnSearchEngines("a write that fails leaves nothing in the outbox", async (engine) => {
  const onAfterCreate = () => Promise.reject(new Error("no"));
  await withOutbox(engine, async (service) => {
    const note = { id: 1, ownerId: "ada", title: "tea" };
    assertEquals((await service.send("POST", "/api/notes", note, as("ada"))).status, 500);
    assertEquals((await service.app.searchOutbox?.stats())?.pending, 0);
    await insertRows(service.db, notes, [{ ...note, id: 2 }]);
    // The second item is there already: the first is rolled back.
    const items = [{ ...note, id: 1 }, { ...note, id: 2 }];
    assertEquals(
      (await service.send("POST", "/api/notes/batch", { items }, as("ada"))).status >= 400,
      true,
    );
    assertEquals((await service.app.searchOutbox?.stats())?.pending, 0);
  }, { hooks: { onAfterCreate } });
});

const [better] = everyEngine;

Deno.test("an engine that stays down: writes succeed, the entry dies, onIndexError, a replay", async () => {
  assert(better !== undefined);
  const search = fallibleSearch();
  const { clock, advance } = handClock();
  const failed: unknown[] = [];
  await withService(better, [notes], () => ({
    ...servedNotes({
      search: {
        outbox: true,
        onIndexError: (error: Error, { ids }: { ids: string[] }) =>
          failed.push([error.message, ids]),
      },
    }),
    ...{ search: search.adapter, kv: createMemoryKeyValue(clock) },
    runtime: { ...runtime, clock },
    searchOutbox,
  }), async (service) => {
    await find(service, "q=nothing");
    search.isDown = true;
    await createNotes(service, [{ id: 1, title: "tea" }]);
    const { searchOutbox: outbox } = service.app;
    for (let n = 0; n < 10; n++) {
      assertEquals(await outbox?.drain(), { done: 0, failed: 1, dead: n === 9 ? 1 : 0 });
      advance(300_000);
    }
    assertEquals(failed, [["it is down (10 attempts)", ["1"]]]);
    search.isDown = false;
    assertEquals(await drain(service), 0);
    assertEquals(await outbox?.replayDead(), 1);
    assertEquals(await drain(service), 1);
    assertEquals((await find(service, "q=tea")).ids, [1]);
  });
});

Deno.test("a store that does not answer: writes succeed, and are indexed once it does", async () => {
  assert(better !== undefined);
  const memory = createMemoryKeyValue(systemClock);
  let [isDown, calls] = [false, 0];
  const ifUp = async <T>(work: () => Promise<T>): Promise<T> => {
    calls++;
    if (isDown) throw new StoreError("unavailable", new Error("down"));
    return await work();
  };
  const kv: KeyValue = {
    get: (key) => ifUp(() => memory.get(key)),
    getMany: (keys) => ifUp(() => memory.getMany(keys)),
    list: (page) => ifUp(() => memory.list(page)),
    commit: (commit) => ifUp(() => memory.commit(commit)),
    close: () => memory.close(),
  };
  await withService(better, [notes], () => ({
    ...servedNotes({ search: { outbox: true } }),
    ...{ search: memorySearch(), kv, searchOutbox },
  }), async (service) => {
    await find(service, "q=nothing");
    isDown = true;
    await createNotes(service, [{ id: 1, title: "tea" }]);
    // This one does not wait for the store.
    const before = calls;
    await createNotes(service, [{ id: 2, title: "tea" }]);
    assertEquals(calls, before);
    const missed = service.observations.filter(({ kind }) => kind === "search_outbox_missed");
    assertEquals(missed.length, 1);
    isDown = false;
    assertEquals(await drain(service), 2);
    assertEquals((await find(service, "q=tea")).total, 2);
    await createNotes(service, [{ id: 3, title: "tea" }]);
    assertEquals(await drain(service), 1);
  });
});

Deno.test("without a store rows are indexed at once, with a notice", async () => {
  assert(better !== undefined);
  await withService(better, [notes], () => ({
    ...servedNotes({ search: { outbox: true } }),
    search: memorySearch(),
  }), async (service) => {
    await createNotes(service, [{ id: 1, title: "tea" }]);
    assertEquals((await find(service, "q=tea")).ids, [1]);
    assertEquals(service.app.searchOutbox, null);
    const [notice] = service.observations.filter(({ kind }) => kind === "notice");
    assertEquals(notice, {
      kind: "notice",
      message: 'search.outbox of the index "notes" has no effect: no kv is configured',
    });
  });
});

Deno.test("a sweep repairs once a day what no entry says", async () => {
  assert(better !== undefined);
  const { clock, advance } = handClock();
  await withService(better, [notes], () => ({
    ...servedNotes({ search: { outbox: true } }),
    ...{ search: memorySearch(), kv: createMemoryKeyValue(clock) },
    runtime: { ...runtime, clock },
  }), async (service) => {
    const { searchOutbox: outbox } = service.app;
    const tick = async (ms: number) => {
      advance(ms);
      // A tick that is running is waited for.
      await service.app.upkeep();
    };
    await createNotes(service, [{ id: 1, title: "tea" }, { id: 2, title: "tea" }]);
    await tick(2_000);
    assertEquals((await find(service, "q=tea")).total, 2);
    const row = { id: 3, ownerId: "ada", title: "tea" };
    await insertRows(service.db, notes, [row]);
    await service.db.sql`UPDATE ${notes} SET ${notes.title} = ${"milk"} WHERE ${notes.id} = ${1}`;
    await tick(86_300_000);
    assertEquals((await find(service, "q=tea")).total, 2);
    assertEquals((await outbox?.stats())?.pending, 0);
    await tick(100_000);
    let found = await find(service, "q=tea");
    for (let n = 0; n < 100 && found.ids[0] !== 2; n++) {
      await new Promise<void>(runAfterPendingIo);
      found = await find(service, "q=tea");
    }
    assertEquals(found.ids.toSorted(), [2, 3]);
    assertEquals((await find(service, "q=milk")).ids, [1]);
  });
});

Deno.test("the outbox is drained every two seconds, by one process of two, until the app closes", async () => {
  const { clock, advance } = handClock();
  const store = createMemoryKeyValue(clock);
  const kv = { ...store, close: () => Promise.resolve() };
  const observed: Observation[] = [];
  const db = await openDatabase("sqlite::memory:");
  await db.createTables([notes]);
  const crons: string[] = [];
  const open = () =>
    createApp({
      ...{ db: { ...db, close: () => Promise.resolve() }, kv },
      secret: "a secret for the tests only",
      search: memorySearch(),
      resources: [
        resource(notes, {
          id: notes.id,
          auth: { public: { read: true }, create: () => all() },
          search: { outbox: true },
        }),
      ],
      runtime: {
        ...systemRuntime((observation) => observed.push(observation)),
        clock,
        cron: (name, schedule) => {
          crons.push(`${name} ${schedule}`);
          return () => crons.push("stopped");
        },
      },
    });
  const [first, second] = [await open(), await open()];
  const holder = async () =>
    (await store.get(["search", "outbox", "drainer"])).value as { owner: string } | undefined;
  const { searchOutbox: outbox } = first;
  assert(outbox !== null);
  await outbox.enqueue({ index: "notes", type: "index", docId: "1" });
  advance(1_999);
  assertEquals(await holder(), undefined);
  advance(1);
  while ((await outbox.stats()).pending > 0) await new Promise<void>(runAfterPendingIo);
  const owner = (await holder())?.owner;
  await first.close();
  await second.close();
  assertEquals([typeof owner, await holder()], ["string", undefined]);
  assertEquals(crons, Array(2).fill("search outbox * * * * *").concat("stopped", "stopped"));
  await outbox.enqueue({ index: "notes", type: "index", docId: "1" });
  advance(100_000);
  assertEquals((await outbox.stats()).pending, 1);
  assertEquals(observed.filter(({ kind }) => kind === "search_outbox_failed"), []);
  await db.close();
});
