import { assertEquals, assertRejects } from "@std/assert";
import type { JobConflict } from "../../../src/client/outbox/resolve_conflict.ts";
import { ConflictError, ServiceError } from "../../../src/client/request/service_error.ts";
import {
  calm,
  createDevice,
  openPage,
  type Page,
  type Service,
  withService,
} from "./outbox_support.ts";

/** A row that one page has seen, and another one has changed since. */
async function inConflict(
  service: Service,
  onConflict: ((conflict: JobConflict) => Record<string, unknown> | null) | undefined,
): Promise<Page> {
  const page = openPage(service, createDevice(), { onConflict });
  const row = await page.outbox.create(page.api.posts, { id: 1, title: "a", log: "a" }).done;
  page.lists.rows.set("/api/posts/1", { ...row });
  const other = openPage(service, createDevice());
  await other.outbox.update(other.api.posts, 1, { title: "theirs" }).done;
  other.outbox.close();
  service.sent.length = 0;
  return page;
}

Deno.test("a handler resolves a conflict by another patch, sent over the present row", () =>
  withService(async (service) => {
    const seen: unknown[] = [];
    const page = await inConflict(service, ({ resource, base, mine, theirs }) => {
      seen.push([resource, base?.title, mine, theirs?.title]);
      return { ...mine, title: `${theirs?.title} and mine` };
    });
    const { api, outbox, lists } = page;
    const write = outbox.update(api.posts, 1, { title: "mine", log: "b" });
    const row = await write.done;
    assertEquals(seen, [["posts", "a", { title: "mine", log: "b" }, "theirs"]]);
    assertEquals([row?.title, row?.log], ["theirs and mine", "b"]);
    const [first, , last] = service.sent.map(({ method, headers }) => [
      ...[method, headers.get("if-match"), headers.get("idempotency-key")],
    ]);
    assertEquals(first?.slice(0, 2), ["PATCH", 'W/"1"']);
    assertEquals(last?.slice(0, 2), ["PATCH", 'W/"2"']);
    assertEquals(first?.[2] === last?.[2], false, "another request has another key");
    assertEquals(lists.shown.size, 0);
    outbox.close();
  }));

Deno.test("a write over another one that is still shown over a newer row is a conflict", () =>
  withService(async (service) => {
    const seen: unknown[] = [];
    const onConflict = ({ mine, theirs }: JobConflict) => {
      seen.push([mine, theirs?.title]);
      return null;
    };
    const page = openPage(service, createDevice(), { onConflict });
    const { api, outbox, lists } = page;
    const base = await outbox.create(api.posts, { id: 1, title: "a" }).done;
    lists.echoesAtOnce = false;
    outbox.update(api.posts, 1, { title: "ab" }, base === null ? {} : { base });
    await calm(service);
    const other = openPage(service, createDevice());
    const theirs = await other.outbox.update(other.api.posts, 1, { title: "theirs" }).done;
    other.outbox.close();
    lists.rows.set("/api/posts/1", { ...theirs });
    assertEquals([...lists.shown.values()].map(({ fields }) => fields), [{ title: "ab" }]);
    const { done } = outbox.update(api.posts, 1, { title: "abc" });
    await assertRejects(() => done, ServiceError);
    assertEquals(seen, [[{ title: "abc" }, "theirs"]]);
    outbox.close();
  }));

for (
  const [name, handler] of [
    ["without a handler", undefined],
    ["whose handler gives up", () => null],
    ["whose handler throws", () => {
      throw new Error("no");
    }],
  ] as const
) {
  Deno.test(`a conflict ${name} is a dead letter, and is revived over the present row`, () =>
    withService(async (service) => {
      const { api, outbox, lists } = await inConflict(service, handler);
      const write = outbox.update(api.posts, 1, { log: "mine" });
      const error = await assertRejects(() => write.done, ServiceError);
      assertEquals([error.slug, error.status], ["precondition-failed", 412]);
      assertEquals(outbox.get().dead, 1);
      lists.rows.set("/api/posts/1", { _etag: 'W/"2"' });
      await outbox.revive(write.id);
      await calm(service);
      const [row] = await service.posts();
      assertEquals([row?.title, row?.log, outbox.get().jobs.length], ["theirs", "mine", 0]);
      outbox.close();
    }));
}

Deno.test("writes that wait for each other are in no conflict, with others they are each", () =>
  withService(async (service) => {
    const seen: unknown[] = [];
    const page = await inConflict(service, ({ mine, theirs }) => {
      seen.push([mine, theirs?.title, theirs?.log]);
      return mine;
    });
    const { api, outbox, lists } = page;
    for (const log of ["b", "c"]) outbox.update(api.posts, 1, { log });
    await calm(service);
    assertEquals(seen, [[{ log: "b" }, "theirs", "a"], [{ log: "c" }, "theirs", "b"]]);
    lists.echoesAtOnce = false;
    lists.rows.set("/api/posts/1", { _etag: 'W/"4"' });
    for (const log of ["d", "e"]) {
      outbox.update(api.posts, 1, { log });
      // The list shows the row as it was: no event has come, and the overlay is there.
      await calm(service);
    }
    outbox.update(api.posts, 1, { log: "f" });
    await calm(service);
    assertEquals(seen.length, 2);
    assertEquals((await service.posts())[0]?.log, "f");
    outbox.close();
  }));

Deno.test("a row that was deleted is null in its conflict, and so is what a delete sets", () =>
  withService(async (service) => {
    const seen: unknown[] = [];
    const page = await inConflict(service, ({ mine, theirs }) => {
      seen.push([mine, theirs?.title]);
      return {};
    });
    const { api, outbox } = page;
    await outbox.delete(api.posts, 1).done;
    assertEquals(seen, [[null, "theirs"]]);
    assertEquals(await service.posts(), []);
    const late = outbox.update(api.posts, 1, { log: "late" });
    const error = await assertRejects(() => late.done, ServiceError);
    assertEquals(error instanceof ConflictError ? 412 : error.status, 404);
    outbox.close();
  }));

Deno.test("a proxy that changes every tag causes a dead letter, not conflicts without end", () =>
  withService(async (service) => {
    let conflicts = 0;
    const page = await inConflict(service, ({ mine }) => {
      conflicts++;
      return mine;
    });
    const { fetch } = service;
    service.fetch = async (request) => {
      const response = await fetch(request);
      const headers = new Headers(response.headers);
      if (headers.has("etag")) headers.set("etag", `${headers.get("etag")}-gzip`);
      return new Response(await response.text(), { status: response.status, headers });
    };
    const { api, outbox, lists } = page;
    lists.rows.set("/api/posts/1", { _etag: 'W/"2"-gzip' });
    await assertRejects(() => outbox.update(api.posts, 1, { log: "x" }).done, ServiceError);
    assertEquals(conflicts, 5);
    outbox.close();
  }));

Deno.test("a proxy that changes the ETag of a compressed response causes no conflict", () =>
  withService(async (service) => {
    const { fetch } = service;
    service.fetch = async (request) => {
      const response = await fetch(request);
      const headers = new Headers(response.headers);
      headers.set("etag", headers.get("etag")?.replace(/"$/, '-gzip"') ?? "");
      return new Response(await response.text(), { status: response.status, headers });
    };
    const page = openPage(service, createDevice(), { onConflict: () => null });
    const { api, outbox, lists } = page;
    const base = await outbox.create(api.posts, { id: 1, title: "a" }).done;
    assertEquals(base?._etag, 'W/"1-gzip"');
    lists.echoesAtOnce = false;
    lists.rows.set("/api/posts/1", { ...base, _etag: 'W/"1"' });
    outbox.update(api.posts, 1, { title: "ab" });
    await calm(service);
    // The list has the row of the first update, and its event has not come yet.
    lists.rows.set("/api/posts/1", { ...base, title: "ab", _etag: 'W/"2"' });
    outbox.update(api.posts, 1, { title: "abc" });
    await calm(service);
    assertEquals((await service.posts()).map(({ title }) => title), ["abc"]);
    assertEquals(outbox.get().dead, 0);
    outbox.close();
  }));

Deno.test("the tag of a given base is sent, also with a composite key", () =>
  withService(async (service) => {
    const { api, outbox, lists } = openPage(service, createDevice());
    const link = outbox.create(api.links, { source: 1, target: "a,b/c", note: "x" });
    const row = await link.done;
    assertEquals(typeof row?.note, "string");
    const base: { _etag?: string } = row ?? {};
    const update = outbox.update(api.links, [1, "a,b/c"], { note: "y" }, { base });
    assertEquals(lists.shown.get(update.id)?.key, `["1","a,b/c"]`);
    assertEquals((await update.done)?.note, "y");
    assertEquals(service.sent.at(-1)?.headers.get("if-match"), base._etag);
    const stale = outbox.update(api.links, [1, "a,b/c"], { note: "z" }, { base });
    await assertRejects(() => stale.done, ServiceError);
    outbox.close();
  }));
