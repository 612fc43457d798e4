import { assert, assertEquals } from "@std/assert";
import { createClient, createOutbox, liveList } from "../../../exports/client.ts";
import { handle } from "../../../src/api/handle.ts";
import { openListsOf } from "../../../src/client/live/open_lists.ts";
import type { Job } from "../../../src/client/outbox/job.ts";
import { indexedDbStorage } from "../../../src/client/outbox/indexed_db_storage.ts";
import { newJob } from "../../../src/client/outbox/new_job.ts";
import type { Overlay } from "../../../src/client/overlays/overlay.ts";
import { overlaysOf } from "../../../src/client/overlays/overlays.ts";
import { createIndexedDb } from "./browser.ts";
import { createDevice, recordingLists } from "./outbox_support.ts";
import { fastEnvironment } from "../support/fast_environment.ts";
import { withPostsPage } from "../support/posts_page.ts";
import { until } from "../support/until.ts";

Deno.test("each of many writes computed all rows of each list, and called all listeners", () =>
  withPostsPage(async ({ api }) => {
    const work = { accepts: 0, list: 0, outbox: 0 };
    const list = liveList(api.posts, {
      accepts: () => {
        work.accepts++;
        return true;
      },
    });
    const end = list.subscribe(() => work.list++);
    await until(list, ({ status }) => status === "live");
    const outbox = createOutbox(api, { identity: "" });
    const endOutbox = outbox.subscribe(() => work.outbox++);
    const before = { ...work };
    for (let id = 100; id < 600; id++) {
      const created = outbox.create(api.posts, { id, title: `n${id}` });
      outbox.update(api.posts, created, { title: `m${id}` });
    }
    assertEquals(outbox.get().jobs.length, 1_000, "the outbox contains them");
    assertEquals(list.get().items.at(-1)?.title, "m599", "the list shows them");
    await new Promise((resolve) => queueMicrotask(() => queueMicrotask(() => resolve(null))));
    assertEquals(work.list - before.list, 1, "one call for the list");
    assertEquals(work.accepts - before.accepts, 500, "each row is computed once");
    for (let tick = 0; tick < 50; tick++) await Promise.resolve();
    // They are added, the stored ones are read, and their positions are known.
    assertEquals(work.outbox - before.outbox, 3);
    outbox.close();
    end();
    endOutbox();
  }, { environment: { ...fastEnvironment(20), isOnline: () => false } }));

/** A storage in IndexedDB, and how many jobs each transaction has added. */
async function countedStorage() {
  const added: number[] = [];
  const databases = createIndexedDb();
  const device = createDevice();
  const storage = await indexedDbStorage(
    {
      open(name) {
        const opening = databases.open(name);
        opening.onsuccess = () => {
          const { result } = opening;
          const transaction = result.transaction.bind(result);
          result.transaction = (...given) => {
            const own = transaction(...given);
            const objectStore = own.objectStore.bind(own);
            own.objectStore = (wanted) => {
              const store = objectStore(wanted);
              const add = store.add.bind(store);
              const index = added.push(0) - 1;
              store.add = (value) => {
                added[index] = (added[index] ?? 0) + 1;
                return add(value);
              };
              return store;
            };
            return own;
          };
        };
        return new Proxy(opening, {
          get: (target, member) => Reflect.get(target, member, target),
          set(target, member, listener) {
            if (member !== "onsuccess") return Reflect.set(target, member, listener, target);
            const prepare = target.onsuccess;
            target.onsuccess = (event) => {
              prepare?.(event);
              listener(event);
            };
            return true;
          },
        });
      },
    },
    "counted",
    device.environment,
  );
  return { storage, added, device };
}

const aJob: Omit<Job, "order"> = {
  ...{ id: "", idempotencyKey: "", kind: "update", resource: "/api/posts", path: "/api/posts/1" },
  ...{ of: null, body: { title: "a" }, ifMatch: null, base: null, createdAt: 0, after: null },
  ...{ conflicts: 0, attempts: 0, state: "waiting", problem: null },
};

Deno.test("each of many writes had its own transaction of IndexedDB, all of them in one task", async () => {
  const { storage, added } = await countedStorage();
  const adding = Array.from({ length: 1_000 }, (_, n) => storage.add({ ...aJob, id: `${n}` }));
  for (let turn = 0; turn < 5; turn++) await Promise.resolve();
  // What one task stores is limited, so that the page can continue.
  assertEquals(added, [100]);
  await Promise.all(adding);
  assertEquals(added, Array.from({ length: 10 }, () => 100));
  const ids = (await storage.all()).map(({ id }) => id);
  assertEquals(ids, Array.from({ length: 1_000 }, (_, n) => `${n}`), "in the order of the writes");
});

Deno.test("a page that the user leaves stores all of its many writes immediately", async () => {
  const { storage, added, device } = await countedStorage();
  const adding = Array.from({ length: 1_000 }, (_, n) => storage.add({ ...aJob, id: `${n}` }));
  for (let turn = 0; turn < 5; turn++) await Promise.resolve();
  device.wake();
  for (let turn = 0; turn < 5; turn++) await Promise.resolve();
  assertEquals(added.reduce((sum, count) => sum + count), 1_000);
  await Promise.all(adding);
  assertEquals((await storage.all()).length, 1_000);
});

Deno.test("each of many writes read all writes that were waiting", () => {
  const { environment } = createDevice();
  const { transport } = createClient({ baseUrl: "http://test", environment })[handle];
  let reads = 0;
  const jobs = new class extends Map<string, Job> {
    override values() {
      reads += this.size;
      return super.values();
    }
  }();
  const known = {
    ...{ jobs, last: new Map(), created: new Map(), sent: new Map() },
    overlays: recordingLists(),
  };
  const path = "/api/posts";
  const keys = new Map<unknown, string>();
  for (let n = 0; n < 1_000; n++) {
    const target = n % 500;
    const write = { kind: "update", target, body: {} } as const;
    const job = newJob(write, { transport, path }, known);
    assertEquals(job.after, keys.get(target) ?? null, "it waits for the write before it");
    keys.set(target, job.idempotencyKey);
    jobs.set(job.id, job);
  }
  assertEquals(reads, 0);
});

Deno.test("with many unconfirmed writes, each answer sorted them all again, and each event read them all", () =>
  withPostsPage(async ({ api }) => {
    const list = liveList(api.posts, { orderBy: ["-title"] });
    const end = list.subscribe(() => {});
    await until(list, ({ items }) => items.length === 2_000);
    const { transport } = api[handle];
    const overlays = overlaysOf(transport);
    const [open] = openListsOf(transport).all;
    assert(open);
    const sorted: number[] = [];
    const insert = open.set.insert.bind(open.set);
    open.set.insert = (items, rows) => {
      const added = [...rows];
      sorted.push(added.length);
      return insert(items, added);
    };
    let reads = 0;
    for (let id = 1; id <= 1_000; id++) {
      const overlay: Overlay = {
        ...{ id: `${id}`, resource: "/api/posts", kind: "update", key: `["${id}"]` },
        fields: { title: `n${id}` },
      };
      overlays.add(
        new Proxy(overlay, {
          get(target, name) {
            reads++;
            return Reflect.get(target, name);
          },
        }),
      );
    }
    assertEquals(list.get().pending, 1_000);
    assertEquals(sorted, [2_000]);
    const items = list.get().items;
    overlays.reject("7");
    const after = list.get().items;
    assertEquals(sorted, [2_000, 1], "only the row of the write is sorted again");
    assertEquals(after.filter((row) => !items.includes(row)).length, 1);
    const titles = after.map(({ title }) => title);
    assertEquals(titles, titles.toSorted().reverse());
    reads = 0;
    for (let id = 1; id <= 1_000; id++) {
      const item = { id, title: `n${id}`, _optimisticId: `${id}` };
      overlays.receive(open, { type: "changed", id, item });
    }
    assert(reads <= 5_000, `${reads} reads`);
    end();
  }, { rows: 2_000, environment: { ...fastEnvironment(20), isOnline: () => false } }));
