import { assertEquals, assertRejects } from "@std/assert";
import { ServiceError } from "../../../src/client/request/service_error.ts";
import type { OutboxOptions } from "../../../src/client/outbox/outbox.ts";
import { indexedDbStorage } from "../../../src/client/outbox/indexed_db_storage.ts";
import type { WebLocks } from "../../../src/api/web_platform.ts";
import { createBrowser, createIndexedDb } from "./browser.ts";
import {
  calm,
  createDevice,
  type Device,
  type Fate,
  openPage,
  type Page,
  type Service,
  withService,
} from "./outbox_support.ts";

const tabsIdentity = crypto.randomUUID();

/** Two tabs, of which the first one sends. */
async function withTabs(
  work: (tabs: { service: Service; first: Page; second: Page; device: Device }) => Promise<void>,
  options: Partial<OutboxOptions> = {},
): Promise<void> {
  await withService(async (service) => {
    const device = createDevice(createBrowser());
    const named = { identity: crypto.randomUUID(), ...options };
    const first = openPage(service, device, named);
    await quiet(service);
    const second = openPage(service, device, named);
    await quiet(service);
    try {
      await work({ service, first, second, device });
    } finally {
      first.outbox.close();
      second.outbox.close();
      await quiet(service);
    }
  });
}

/** Databases and channels take some turns more than answers. */
async function quiet(service: Service): Promise<void> {
  for (let round = 0; round < 10; round++) await calm(service);
}

Deno.test("jobs in IndexedDB keep their order, and one that was removed does not come back", async () => {
  const storage = await indexedDbStorage(createIndexedDb(), "outbox", createDevice().environment);
  const job = {
    ...{ id: "a", idempotencyKey: "k", kind: "update", resource: "/api/posts" } as const,
    ...{ path: "/api/posts/1", of: null, body: { title: "x" }, ifMatch: null, base: null },
    ...{
      createdAt: 1,
      after: null,
      conflicts: 0,
      attempts: 0,
      state: "waiting",
      problem: null,
    } as const,
  };
  const first = await storage.add(job);
  const second = await storage.add({ ...job, id: "b" });
  assertEquals(await storage.update(first, () => undefined), undefined);
  const changed = await storage.update(first, (stored) => ({ ...stored, ifMatch: "t" }));
  assertEquals([changed?.id, changed?.ifMatch], ["a", "t"]);
  assertEquals((await storage.all()).map(({ id, ifMatch }) => [id, ifMatch]), [
    ...[["a", "t"], ["b", null]],
  ]);
  await storage.remove(first);
  assertEquals(await storage.update(first, (stored) => stored), undefined);
  assertEquals((await storage.all()).map(({ id, order }) => [id, order]), [["b", second]]);
  const wrong = { ...job, body: { title: () => 1 } };
  await assertRejects(() => storage.add(wrong));
});

Deno.test("every tab adds and shows, one sends, and each learns what became of its writes", () =>
  withTabs(async ({ service, first, second }) => {
    const { api } = second;
    const { id, done } = second.outbox.create(api.posts, { id: 1, title: "Tea" });
    assertEquals(second.lists.shown.has(id), true);
    let shown = false;
    service.fate = () => {
      shown = first.lists.shown.has(id);
      return "arrives";
    };
    assertEquals((await done)?.title, "Tea");
    await quiet(service);
    assertEquals(shown, true, "the other tab has shown it, too");
    assertEquals(service.sent.length, 1);
    for (const { lists, outbox } of [first, second]) {
      assertEquals([lists.shown.size, outbox.get().jobs.length], [0, 0]);
    }
  }));

Deno.test("objects that a framework observes are stored, and may change after the write", () =>
  withTabs(async ({ service, first: { api, outbox } }) => {
    const form = new Proxy({ title: "Tea" }, {});
    const { done } = outbox.create(api.posts, form);
    form.title = "Milk";
    const row = await done;
    await outbox.update(api.posts, 1, { log: "a" }, { base: new Proxy(row ?? {}, {}) }).done;
    assertEquals((await service.posts()).map(({ title, log }) => [title, log]), [["Tea", "a"]]);
  }));

Deno.test("a dead letter that two tabs revive at once is sent as the first one's", () =>
  withTabs(async ({ service, first, second, device }) => {
    // deno-lint-ignore no-explicit-any -- a body that the types refuse
    const wrong = 5 as any;
    const { id, done } = second.outbox.create(second.api.posts, { id: 1, title: wrong });
    await assertRejects(() => done, ServiceError);
    await quiet(service);
    device.isOnline = false;
    await Promise.all([
      first.outbox.revive(id, { id: 1, title: "Tea" }),
      second.outbox.revive(id, { id: 1, title: "Milk" }),
    ]);
    await quiet(service);
    const shown = [first, second].map(({ outbox }) => outbox.get().jobs.map(({ body }) => body));
    assertEquals(shown, [[{ id: 1, title: "Tea" }], [{ id: 1, title: "Tea" }]]);
    device.isOnline = true;
    device.wake();
    await quiet(service);
    assertEquals((await service.posts()).map(({ title }) => title), ["Tea"]);
    assertEquals([first, second].map(({ lists }) => lists.shown.size), [0, 0]);
  }));

Deno.test("a tab that did not see a write of another tab does not undo it", () =>
  withTabs(async ({ service, first, second, device }) => {
    const row = await first.outbox.create(first.api.posts, { id: 1, log: "a" }).done;
    await quiet(service);
    device.isOnline = false;
    const base = row ?? {};
    // In the same moment: no message has come.
    first.outbox.update(first.api.posts, 1, { log: "ab" }, { base });
    second.outbox.update(second.api.posts, 1, { log: "ac" }, { base });
    await quiet(service);
    device.isOnline = true;
    device.wake();
    await quiet(service);
    assertEquals((await service.posts()).map(({ log }) => log), ["ab, not a but ac"]);
  }, {
    onConflict: ({ base, mine, theirs }) => ({
      log: `${theirs?.log}, not ${base?.log} but ${mine?.log}`,
    }),
  }));

Deno.test("a tab that an ending message has missed notices the end by itself", () =>
  withTabs(async ({ service, first, second, device }) => {
    device.isOnline = false;
    const { id, done } = second.outbox.create(second.api.posts, { id: 1, title: "Tea" });
    await quiet(service);
    const storage = await indexedDbStorage(
      device.environment.indexedDB ?? createIndexedDb(),
      `outbox http://localhost/api ${tabsIdentity}`,
      device.environment,
    );
    for (const { order } of await storage.all()) await storage.remove(order);
    device.wake();
    await quiet(service);
    assertEquals(first.outbox.get().jobs.map((job) => job.id), [id]);
    device.advance(1_000);
    assertEquals(await done, null);
    assertEquals([first, second].map(({ outbox }) => outbox.get().jobs.length), [0, 0]);
  }, { identity: tabsIdentity }));

Deno.test("a tab addresses a row by its own write after another tab has created it", () =>
  withTabs(async ({ service, second: { api, outbox } }) => {
    const creation = outbox.create(api.posts, { title: "a" });
    outbox.update(api.posts, creation, { title: "b" });
    await quiet(service);
    await outbox.update(api.posts, creation, { log: "c" }).done;
    assertEquals((await service.posts()).map(({ title, log }) => [title, log]), [["b", "c"]]);
  }));

Deno.test("the next tab sends when the first is closed, also what was on its way", () =>
  withTabs(async ({ service, first, second }) => {
    const fates: Fate[] = ["answer lost"];
    service.fate = () => {
      if (fates.length > 0) queueMicrotask(() => first.outbox.close());
      return fates.shift() ?? "arrives";
    };
    const { done } = second.outbox.create(second.api.posts, { title: "Tea" });
    await done;
    assertEquals((await service.posts()).length, 1);
    assertEquals(service.sent.length, 2);
    assertEquals(new Set(service.sent.map((r) => r.headers.get("idempotency-key"))).size, 1);
  }));

Deno.test("dead letters are shown, revived and discarded in every tab", () => {
  let dead = 0;
  return withTabs(async ({ service, first, second }) => {
    // deno-lint-ignore no-explicit-any -- a body that the types refuse
    const wrong = 5 as any;
    const [one, two] = [1, 2].map((id) =>
      second.outbox.create(second.api.posts, { id, title: wrong })
    );
    const error = await assertRejects(async () => await one?.done, ServiceError);
    assertEquals(error.status, 422);
    await quiet(service);
    assertEquals([first.outbox.get().dead, second.outbox.get().dead, dead], [2, 2, 4]);
    await second.outbox.revive(one?.id ?? "", { id: 1, title: "Tea" });
    await second.outbox.discard(two?.id ?? "");
    await quiet(service);
    assertEquals((await service.posts()).map(({ title }) => title), ["Tea"]);
    assertEquals([first.outbox.get().jobs.length, second.outbox.get().jobs.length], [0, 0]);
  }, { onDead: () => void dead++ });
});

Deno.test("the tabs show a write as a conflict has left it", () =>
  withTabs(async ({ service, first, second }) => {
    const { api, outbox, lists } = second;
    const row = await outbox.create(api.posts, { id: 1, title: "a" }).done;
    await outbox.update(api.posts, 1, { title: "b" }, { base: row ?? {} }).done;
    const { id } = outbox.update(api.posts, 1, { log: "c" }, { base: row ?? {} });
    let patches = 0;
    service.fate = () => patches++ === 0 ? "arrives" : patches === 2 ? "arrives" : "lost";
    await quiet(service);
    assertEquals([lists, first.lists].map(({ shown }) => shown.get(id)?.fields), [
      ...[{ log: "c, b" }, { log: "c, b" }],
    ]);
  }, { onConflict: ({ mine, theirs }) => ({ log: `${mine?.log}, ${theirs?.title}` }) }));

Deno.test("tabs of different users share nothing", () =>
  withService(async (service) => {
    const device = createDevice(createBrowser());
    device.isOnline = false;
    const identity = crypto.randomUUID();
    const ada = openPage(service, device, { identity });
    const bob = openPage(service, device, { identity: `${identity} bob` });
    ada.outbox.create(ada.api.posts, { title: "Tea" });
    await quiet(service);
    assertEquals([ada.outbox.get().waiting, bob.outbox.get().waiting], [1, 0]);
    ada.outbox.close();
    bob.outbox.close();
    await quiet(service);
  }));

Deno.test("an outbox that is closed right after a write has stored it, and another one sends it", () =>
  withService(async (service) => {
    const device = createDevice(createBrowser());
    const options = { identity: crypto.randomUUID() };
    const first = openPage(service, device, options);
    await quiet(service);
    device.isOnline = false;
    const { done } = first.outbox.create(first.api.posts, { id: 1, title: "Tea" });
    first.outbox.close();
    const ended = await Promise.race([done.catch(String), quiet(service).then(() => "waits")]);
    assertEquals(ended, "waits");
    device.isOnline = true;
    const second = openPage(service, device, options);
    await quiet(service);
    assertEquals((await service.posts()).map(({ title }) => title), ["Tea"]);
    second.outbox.close();
    await quiet(service);
  }));

Deno.test("an outbox whose storage does not answer gives its lock back when it is closed", () =>
  withService(async (service) => {
    const device = createDevice(createBrowser());
    const options = { identity: crypto.randomUUID() };
    const { indexedDB } = device.environment;
    const storage = await indexedDbStorage(
      indexedDB ?? createIndexedDb(),
      "jobs",
      createDevice().environment,
    );
    const silent = { ...storage, all: () => new Promise<never>(() => {}) };
    const first = openPage(service, device, { ...options, storage: silent });
    await quiet(service);
    const second = openPage(service, device, { ...options, storage });
    const { done } = second.outbox.create(second.api.posts, { id: 1, title: "Tea" });
    await quiet(service);
    assertEquals(service.sent.length, 0);
    first.outbox.close();
    assertEquals((await done)?.title, "Tea");
    second.outbox.close();
    await quiet(service);
  }));

Deno.test("a lock that comes after an outbox was closed is given back", () =>
  withService(async (service) => {
    const closing = Promise.withResolvers<void>();
    const ended = Promise.withResolvers<void>();
    const locks: WebLocks = {
      // As where the lock was on its way when the outbox was closed.
      async request(_name, _options, work) {
        await closing.promise;
        const result = await work({});
        ended.resolve();
        return result;
      },
    };
    const device = createDevice({ ...createBrowser(), locks });
    const { outbox } = openPage(service, device, { identity: crypto.randomUUID() });
    await quiet(service);
    outbox.close();
    closing.resolve();
    let isEnded = false;
    void ended.promise.then(() => isEnded = true);
    await quiet(service);
    assertEquals(isEnded, true);
  }));

Deno.test("what the user sees last is what the next write is over, also after a conflict", () =>
  withTabs(async ({ service, first, second, device }) => {
    await first.outbox.create(first.api.posts, { id: 1, log: "a" }).done;
    await quiet(service);
    for (const { lists } of [first, second]) {
      lists.rows.set("/api/posts/1", { id: 1, log: "a", version: 1, _etag: `W/"1"` });
      lists.echoesAtOnce = false;
    }
    device.isOnline = false;
    // Each tab shows its own write first, and over it that of the other tab.
    const one = first.outbox.update(first.api.posts, 1, { log: "ab" });
    const other = second.outbox.update(second.api.posts, 1, { log: "ac" });
    await quiet(service);
    service.fate = (request) => request.headers.get("if-match") === `W/"2"` ? "lost" : "arrives";
    device.isOnline = true;
    device.wake();
    await quiet(service);
    const seen = [...second.lists.shown.values()].at(-1);
    assertEquals([seen?.id, seen?.fields], [other.id, { log: "abc" }]);
    second.outbox.update(second.api.posts, 1, { log: "abcd" });
    service.fate = () => "arrives";
    device.advanceToNext();
    await quiet(service);
    device.advanceToNext();
    await quiet(service);
    assertEquals((await service.posts()).map(({ log }) => log), ["abcd"]);
    for (const { lists } of [first, second]) for (const id of lists.shown.keys()) lists.confirm(id);
    await one.done;
  }, {
    onConflict: ({ mine, theirs }) => ({ log: `${theirs?.log}${String(mine?.log).at(-1)}` }),
  }));
