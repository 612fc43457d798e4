import { assertEquals, assertObjectMatch, assertRejects } from "@std/assert";
import type { Job } from "../../../src/client/outbox/job.ts";
import { memoryStorage } from "../../../src/client/outbox/memory_storage.ts";
import { ServiceError } from "../../../src/client/request/service_error.ts";
import { calm, createDevice, type Fate, openPage, withService } from "./outbox_support.ts";

Deno.test("a write is shown at once, stored before it is sent, and removed by its answer", () =>
  withService(async (service) => {
    const storage = memoryStorage();
    const stored: (readonly Job[])[] = [];
    service.fate = async (): Promise<Fate> => {
      stored.push(await storage.all());
      return "arrives";
    };
    const { api, outbox, lists } = openPage(service, createDevice(), { storage });
    const { id, done } = outbox.create(api.posts, { id: 1, title: "Tea" });
    assertObjectMatch(lists.shown.get(id) ?? {}, {
      ...{ id, resource: "/api/posts", kind: "create", key: null, of: id },
      fields: { id: 1, title: "Tea" },
    });
    assertEquals([outbox.get().waiting, service.sent.length], [1, 0]);
    const row = { id: 1, title: "Tea", log: "", version: 1 };
    assertEquals(await done, { ...row, _etag: 'W/"1"' });
    assertEquals(await service.posts(), [row]);
    assertEquals(stored.map((jobs) => jobs.map((job) => job.id)), [[id]]);
    assertEquals(service.sent[0]?.headers.get("service-optimistic-id"), id);
    assertEquals(await storage.all(), []);
    assertEquals([lists.shown.size, outbox.get().waiting], [0, 0]);
    outbox.close();
  }));

Deno.test("what a write asks of relations is sent, and not shown as rows of the list", () =>
  withService(async (service) => {
    const { api, outbox, lists } = openPage(service, createDevice());
    await outbox.create(api.posts, { id: 1 }).done;
    const { id, done } = outbox.update(api.posts, 1, { title: "New", links: { connect: [7] } });
    assertEquals(lists.shown.get(id)?.fields, { title: "New" });
    await done;
    assertEquals(await service.sent[1]?.clone().json(), { title: "New", links: { connect: [7] } });
    outbox.close();
  }));

Deno.test("a write whose request or answer is lost is sent again with its key, and done once", () =>
  withService(async (service) => {
    const device = createDevice();
    const { api, outbox } = openPage(service, device);
    const fates: Fate[] = ["lost", "answer lost", "answer lost", "arrives"];
    service.fate = () => fates.shift() ?? "arrives";
    const { done } = outbox.create(api.posts, { title: "Tea" });
    while (fates.length > 0) {
      await calm(service);
      device.advanceToNext();
    }
    await done;
    assertEquals((await service.posts()).length, 1);
    const keys = service.sent.map(({ headers }) => headers.get("idempotency-key"));
    assertEquals([keys.length, new Set(keys).size], [4, 1]);
    outbox.close();
  }));

Deno.test("the writes to a row are sent in order, those to four rows at a time", () =>
  withService(async (service) => {
    const { api, outbox } = openPage(service, createDevice());
    let atOnce = 0;
    service.fate = () => {
      atOnce = Math.max(atOnce, service.inFlight);
      return "arrives";
    };
    for (let id = 1; id <= 6; id++) outbox.create(api.posts, { id });
    await calm(service);
    assertEquals(atOnce, 4);
    for (const log of ["a", "b", "c"]) outbox.update(api.posts, 1, { log });
    await calm(service);
    assertEquals((await service.posts())[0]?.log, "c");
    assertEquals((await service.posts())[0]?.version, 4);
    outbox.close();
  }));

Deno.test("a row that is not created yet is addressed by the write that creates it", () =>
  withService(async (service) => {
    const device = createDevice();
    device.isOnline = false;
    const storage = memoryStorage();
    const { api, outbox, lists } = openPage(service, device, { storage });
    const creation = outbox.create(api.posts, { title: "a" });
    const update = outbox.update(api.posts, creation, { title: "b" });
    assertEquals(lists.shown.get(update.id)?.of, creation.id);
    const replaced = outbox.replace(api.posts, creation, { title: "c" });
    await calm(service);
    assertEquals(service.sent.length, 0, "nothing is sent without a network");
    device.isOnline = true;
    device.wake();
    assertEquals((await replaced.done)?.title, "c");
    assertEquals(
      service.sent.map(({ method, url, headers }) => [
        ...[method, new URL(url).pathname, headers.get("if-match")],
      ]),
      [
        ["POST", "/api/posts", null],
        ["PATCH", "/api/posts/1", 'W/"1"'],
        ["PUT", "/api/posts/1", 'W/"2"'],
      ],
    );
    const last = outbox.delete(api.posts, creation);
    assertEquals(lists.shown.get(last.id)?.key, `["1"]`, "the row has its key by now");
    assertEquals(await last.done, null);
    assertEquals(await service.posts(), []);
    outbox.close();
  }));

Deno.test("a refused write is a dead letter that stops its row, and no other", () =>
  withService(async (service) => {
    const dead: [string, string][] = [];
    const { api, outbox, lists } = openPage(service, createDevice(), {
      onDead: (job, error) => dead.push([job.id, error.slug]),
    });
    await outbox.create(api.posts, { id: 1 }).done;
    await outbox.create(api.posts, { id: 2 }).done;
    // deno-lint-ignore no-explicit-any -- a body that the types refuse
    const bad = outbox.update(api.posts, 1, { title: 5 as any });
    const next = outbox.update(api.posts, 1, { log: "next" });
    const other = outbox.update(api.posts, 2, { log: "other" });
    const error = await assertRejects(() => bad.done, ServiceError);
    assertEquals([error.slug, error.status], ["validation-error", 422]);
    await other.done;
    await calm(service);
    assertEquals(dead, [[bad.id, "validation-error"]]);
    assertEquals([...lists.shown.keys()], [next.id], "the refused write is no longer shown");
    assertEquals([outbox.get().waiting, outbox.get().dead], [1, 1]);
    assertEquals(outbox.get().jobs[0]?.problem?.slug, "validation-error");
    await outbox.revive(bad.id, { title: "five" });
    await next.done;
    const [row] = await service.posts();
    assertEquals([row?.title, row?.log], ["five", "next"]);
    outbox.close();
  }));

Deno.test("a dead letter that is discarded frees its row; a creation takes the writes to it along", () =>
  withService(async (service) => {
    const { api, outbox, lists } = openPage(service, createDevice());
    await outbox.create(api.posts, { id: 1 }).done;
    // deno-lint-ignore no-explicit-any -- a body that the types refuse
    const wrong = 5 as any;
    const bad = outbox.update(api.posts, 1, { title: wrong });
    const next = outbox.update(api.posts, 1, { log: "next" });
    await assertRejects(() => bad.done);
    await outbox.discard(bad.id);
    await next.done;
    const creation = outbox.create(api.posts, { title: wrong });
    const update = outbox.update(api.posts, creation, { log: "x" });
    await assertRejects(() => creation.done);
    await outbox.discard(creation.id);
    const error = await assertRejects(() => update.done, ServiceError);
    assertEquals(error.slug, "discarded");
    assertEquals([outbox.get().jobs.length, lists.shown.size], [0, 0]);
    assertEquals((await service.posts()).map(({ log }) => log), ["next"]);
    outbox.close();
  }));
