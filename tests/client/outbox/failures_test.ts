import { assertEquals, assertRejects } from "@std/assert";
import type { IndexedDbFactory, IndexedDbOpenRequest } from "../../../src/api/web_platform.ts";
import { memoryStorage } from "../../../src/client/outbox/memory_storage.ts";
import { ServiceError } from "../../../src/client/request/service_error.ts";
import { createBrowser, createIndexedDb } from "./browser.ts";
import { calm, createDevice, type Fate, openPage, withService } from "./outbox_support.ts";

/** An answer of the service, or of something between it and the client. */
function answer(status: number, headers: Record<string, string> = {}, code = "X"): Response {
  return new Response(JSON.stringify({ code, detail: "Not now" }), {
    status,
    headers: { "content-type": "application/problem+json", ...headers },
  });
}

for (
  const [name, fate] of [
    ["401", () => answer(401, {}, "UNAUTHORIZED")],
    ["408", () => answer(408)],
    ["425", () => answer(425)],
    ["429", () => answer(429)],
    ["500", () => answer(500)],
    ["503", () => answer(503)],
    ["a request that is still running", () => answer(409, {}, "IDEMPOTENCY_IN_FLIGHT")],
    ["the page of a proxy", () => new Response("<h1>Sign in</h1>", { status: 200 })],
    ["an answer that breaks off", () => new Response('{"id":', { status: 200 })],
  ] as const
) {
  Deno.test(`after ${name} a write waits, and is sent again with its key`, () =>
    withService(async (service) => {
      const device = createDevice();
      const { api, outbox } = openPage(service, device);
      service.fate = fate;
      const { done } = outbox.create(api.posts, { title: "Tea" });
      await calm(service);
      for (let tries = 0; tries < 3; tries++) {
        assertEquals(device.advanceToNext(), true);
        await calm(service);
      }
      assertEquals([outbox.get().waiting, outbox.get().dead], [1, 0]);
      service.fate = () => "arrives";
      device.advanceToNext();
      await done;
      const keys = service.sent.map(({ headers }) => headers.get("idempotency-key"));
      assertEquals([keys.length, new Set(keys).size], [5, 1]);
      outbox.close();
    }));
}

Deno.test("Retry-After is the shortest wait; waking shortens no wait after a 429", () =>
  withService(async (service) => {
    const device = createDevice();
    const { api, outbox } = openPage(service, device);
    service.fate = () => answer(503, { "retry-after": "60" });
    outbox.create(api.posts, { id: 1 });
    await calm(service);
    device.advance(59_999);
    await calm(service);
    assertEquals(service.sent.length, 1);
    service.fate = ({ url }) =>
      url.endsWith("/api/posts") ? answer(429, { "retry-after": "60" }) : "arrives";
    device.wake();
    await calm(service);
    assertEquals(service.sent.length, 2, "waking sends at once");
    device.wake();
    outbox.create(api.posts, { id: 2 });
    device.advance(59_999);
    await calm(service);
    assertEquals(service.sent.length, 2, "and not before a limit is over");
    // Limits are those of a resource.
    await outbox.create(api.links, { source: 1, target: "a" }).done;
    service.fate = () => "arrives";
    device.advance(1);
    await calm(service);
    assertEquals((await service.posts()).length, 2);
    outbox.close();
  }));

Deno.test("a row that fails again and again does not keep the others waiting", () =>
  withService(async (service) => {
    const device = createDevice();
    const { api, outbox } = openPage(service, device);
    service.fate = async (request): Promise<Fate> => {
      const { id } = await request.clone().json();
      return id <= 5 ? answer(500) : "arrives";
    };
    for (let id = 1; id <= 10; id++) outbox.create(api.posts, { id });
    await calm(service);
    assertEquals((await service.posts()).map(({ id }) => id), [6, 7, 8, 9, 10]);
    assertEquals(outbox.get().waiting, 5);
    outbox.close();
  }));

Deno.test("without a network one failure is enough for all rows", () =>
  withService(async (service) => {
    const device = createDevice();
    const { api, outbox } = openPage(service, device);
    service.fate = () => "lost";
    for (let id = 1; id <= 10; id++) outbox.create(api.posts, { id });
    await calm(service);
    assertEquals(service.sent.length <= 4, true);
    service.fate = () => "arrives";
    device.advanceToNext();
    await calm(service);
    assertEquals((await service.posts()).length, 10);
    outbox.close();
  }));

Deno.test("a write that is too old for the memory of the service is a dead letter", () =>
  withService(async (service) => {
    const device = createDevice();
    device.isOnline = false;
    const { api, outbox } = openPage(service, device, { maxAgeMs: 1_000 });
    const { id, done } = outbox.create(api.posts, { id: 1 });
    await calm(service);
    device.advance(1_001);
    device.isOnline = true;
    device.wake();
    const error = await assertRejects(() => done, ServiceError);
    assertEquals([error.slug, service.sent.length], ["expired", 0]);
    await outbox.revive(id);
    await calm(service);
    assertEquals((await service.posts()).length, 1);
    outbox.close();
  }));

Deno.test("a write that cannot be stored is not sent, and says so", () =>
  withService(async (service) => {
    const storage = {
      ...memoryStorage(),
      add: () => Promise.reject(new Error("The disk is full")),
    };
    const { api, outbox, lists } = openPage(service, createDevice(), { storage });
    const { done } = outbox.create(api.posts, { id: 1 });
    const error = await assertRejects(() => done, ServiceError);
    assertEquals([error.slug, error.message], ["storage", "Error: The disk is full"]);
    assertEquals([lists.shown.size, outbox.get().jobs.length, service.sent.length], [0, 0, 0]);
    outbox.close();
  }));

Deno.test("where a browser refuses its database, jobs are in the memory of the page", () =>
  withService(async (service) => {
    const refused = new DOMException("Not in a private window", "SecurityError");
    const indexedDB: IndexedDbFactory = {
      ...createIndexedDb(),
      open: () => {
        const opening: IndexedDbOpenRequest = Object.assign(Object.create(noRequest), {
          error: refused,
        });
        queueMicrotask(() => opening.onerror?.(new Event("error")));
        return opening;
      },
    };
    const parts = { ...createBrowser(), indexedDB };
    const pages = [1, 2].map(() => openPage(service, createDevice(parts)));
    const titles = ["Tea", "Milk"];
    for (const [at, { api, outbox }] of pages.entries()) {
      assertEquals(
        (await outbox.create(api.posts, { title: titles[at] ?? "" }).done)?.title,
        titles[at],
      );
    }
    const { storageError } = pages[0]?.outbox.get() ?? {};
    assertEquals(storageError?.message, "SecurityError: Not in a private window");
    for (const { outbox } of pages) outbox.close();
  }));

Deno.test("a database that never opens kept the writes of the page for ever", () =>
  withService(async (service) => {
    const indexedDB: IndexedDbFactory = {
      ...createIndexedDb(),
      open: () => Object.create(noRequest),
    };
    const device = createDevice({ ...createBrowser(), indexedDB });
    const { api, outbox } = openPage(service, device);
    const { done } = outbox.create(api.posts, { title: "Tea" });
    device.advance(9_999);
    await calm(service);
    assertEquals([service.sent.length, outbox.get().storageError], [0, null]);
    device.advance(1);
    assertEquals((await done)?.title, "Tea");
    assertEquals(outbox.get().storageError?.slug, "storage");
    outbox.close();
  }));

Deno.test("a write is acknowledged before a stream has confirmed it", () =>
  withService(async (service) => {
    const { api, outbox, lists } = openPage(service, createDevice());
    lists.echoesAtOnce = false;
    const { id, acknowledged, done } = outbox.create(api.posts, { title: "Tea" });
    let isDone = false;
    void done.then(() => isDone = true);
    assertEquals((await acknowledged)?.title, "Tea");
    assertEquals([isDone, outbox.get().jobs.length], [false, 0]);
    lists.confirm(id);
    assertEquals((await done)?.title, "Tea");
    const refused = outbox.update(api.posts, 9, { title: "Milk" });
    await assertRejects(() => refused.acknowledged, ServiceError);
    outbox.close();
  }));

Deno.test("a waiting write is discarded before it is stored, while it waits, and while it is sent", () =>
  withService(async (service) => {
    const device = createDevice();
    device.isOnline = false;
    const storage = memoryStorage();
    const { api, outbox, lists } = openPage(service, device, { storage });
    const first = outbox.create(api.posts, { id: 1 });
    await outbox.discard(first.id);
    const second = outbox.create(api.posts, { id: 2 });
    await calm(service);
    await outbox.discard(second.id);
    for (const { done } of [first, second]) {
      assertEquals((await assertRejects(() => done, ServiceError)).slug, "discarded");
    }
    await calm(service);
    assertEquals([await storage.all(), lists.shown.size], [[], 0]);
    device.isOnline = true;
    const third = outbox.create(api.posts, { id: 3 });
    service.fate = async (): Promise<Fate> => {
      await outbox.discard(third.id);
      return "arrives";
    };
    await assertRejects(() => third.done);
    await calm(service);
    // It was on its way: what the service has done is not undone.
    assertEquals((await service.posts()).map(({ id }) => id), [3]);
    assertEquals([await storage.all(), lists.shown.size], [[], 0]);
    outbox.close();
  }));

const noRequest = {
  ...{ onsuccess: null, onerror: null, onupgradeneeded: null, onblocked: null, error: null },
  get result(): never {
    throw new DOMException("There is no result", "InvalidStateError");
  },
};
