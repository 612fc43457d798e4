import { assertEquals, assertNotEquals, assertRejects } from "@std/assert";
import { ConflictError, rsql, ServiceError } from "../../../exports/client.ts";
import { testOnDialects } from "../../support/http.ts";
import { withPosts } from "./posts_service.ts";

testOnDialects(
  "a row is created, changed, replaced, deleted and restored",
  (engine) =>
    withPosts(engine, async (api) => {
      const created = await api.posts.create({ id: 1, title: "Tea", views: 3 });
      assertEquals(created.value.title, "Tea");
      const updated = await api.posts.update(1, { title: "Cake" }, { ifMatch: created.etag });
      assertEquals([updated.value.title, updated.value.views], ["Cake", 3]);
      assertNotEquals(updated.etag, created.etag);
      const replaced = await api.posts.replace(1, { title: "Jam" }, { ifMatch: updated.etag });
      assertEquals([replaced.value.title, replaced.value.views], ["Jam", 0]);
      const stale = await assertRejects(
        () => api.posts.delete(1, { ifMatch: created.etag }),
        ConflictError,
      );
      assertEquals([stale.slug, stale.status], ["precondition-failed", 412]);
      assertEquals(stale.currentETag, replaced.etag);
      assertEquals(typeof stale.suggestion, "string");
      assertEquals(stale.name, "ConflictError");
      await api.posts.delete(1, { ifMatch: replaced.etag });
      await assertRejects(() => api.posts.get(1), ServiceError);
      const { value, etag } = await api.posts.restore(1);
      assertEquals([value.title, value.deletedAt, typeof etag], ["Jam", null, "string"]);
    }),
);

testOnDialects(
  "a write with a key is carried out once",
  (engine) =>
    withPosts(engine, async (api) => {
      const idempotencyKey = crypto.randomUUID();
      const first = await api.posts.create({ title: "Tea" }, { idempotencyKey });
      assertEquals(await api.posts.create({ title: "Tea" }, { idempotencyKey }), first);
      assertEquals(await api.posts.count(), 1);
      const reused = await assertRejects(
        () => api.posts.create({ title: "Cake" }, { idempotencyKey }),
        ServiceError,
      );
      assertEquals(reused.slug, "idempotency-key-reused");
    }),
);

testOnDialects("a create answers its optimistic id", (engine) =>
  withPosts(engine, async (api) => {
    const { value } = await api.posts.create({ title: "Tea" }, { optimisticId: "mine" });
    assertEquals(Object.entries(value).find(([name]) => name === "_optimisticId")?.[1], "mine");
  }));

testOnDialects(
  "batches create, replace, upsert, change and delete rows",
  (engine) =>
    withPosts(engine, async (api) => {
      const created = await api.posts.createBatch([{ id: 1, title: "a" }, { id: 2, title: "b" }]);
      assertEquals(created.map(({ title }) => title), ["a", "b"]);
      const replaced = await api.posts.replaceBatch([{ id: 2, title: "B", views: 2 }]);
      assertEquals(replaced.map(({ title, views }) => [title, views]), [["B", 2]]);
      const both = await api.posts.upsertBatch([{ id: 2, title: "BB" }, { id: 3, title: "c" }]);
      assertEquals(both.map(({ id, title }) => [id, title]), [[2, "BB"], [3, "c"]]);
      const on = await api.posts.upsertBatch([{ id: 3, title: "cc" }], { on: ["id"] });
      assertEquals(on.map(({ id, title }) => [id, title]), [[3, "cc"]]);
      const { value } = await api.posts.create({ id: 3, title: "c" }, { on: "id" });
      assertEquals([value.id, value.title], [3, "c"]);
      assertEquals(await api.posts.updateBatch(rsql`id=in=${[1, 3]}`, { views: 9 }), 2);
      assertEquals(await api.posts.count({ filter: "views==9" }), 2);
      assertEquals(await api.posts.deleteBatch("views==9"), 2);
      assertEquals((await api.posts.list()).items.map(({ id }) => id), [2]);
      const conflict = await assertRejects(
        () => api.posts.upsertBatch([{ id: 2, title: "x", _ifMatch: 'W/"of another time"' }]),
        ConflictError,
      );
      assertEquals(conflict.problem?.details?.index, 0);
    }),
);

testOnDialects(
  "an import sends parts of the size that the service takes",
  (engine) =>
    withPosts(engine, async (api, { get }) => {
      const told: number[] = [];
      const rows = Array.from({ length: 30 }, (_, id) => ({ id, title: `${id}` }));
      const count = await api.posts.import(rows, { onProgress: (count) => told.push(count) });
      // The service takes seven at once.
      assertEquals([count, told], [30, [7, 14, 21, 28, 30]]);
      async function* more() {
        for (let id = 25; id < 35; id++) yield await Promise.resolve({ id, title: `new ${id}` });
      }
      const upserted: number[] = [];
      const onProgress = (count: number) => upserted.push(count);
      assertEquals(await api.posts.import(more(), { upsert: true, size: 4, onProgress }), 10);
      assertEquals(upserted, [4, 8, 10]);
      assertEquals(await api.posts.import([]), 0);
      assertEquals((await get("/api/posts/count")).body, { count: 35 });
      assertEquals((await api.posts.get(25)).value.title, "new 25");
    }),
);

testOnDialects("an import that fails is repeated with its key without writing twice", (engine) => {
  let isBroken = true;
  return withPosts(engine, async (api) => {
    const rows = Array.from({ length: 12 }, (_, id) => ({ title: `${id}` }));
    const idempotencyKey = crypto.randomUUID();
    const told: number[] = [];
    const onProgress = (count: number) => told.push(count);
    const importing = () => api.posts.import(rows, { size: 5, idempotencyKey, onProgress });
    const lost = await assertRejects(importing, ServiceError);
    assertEquals([lost.slug, told], ["network", [5]]);
    isBroken = false;
    assertEquals([await importing(), told], [12, [5, 5, 10, 12]]);
    assertEquals(await api.posts.count(), 12);
  }, (app) => ({
    async fetch(request) {
      const isSecond = request.headers.get("idempotency-key")?.endsWith(".5.5");
      const answer = await app.fetch(request);
      // The rows are written, and the answer is lost.
      if (isSecond && isBroken) throw new TypeError("connection reset");
      return answer;
    },
  }));
});

testOnDialects(
  "an import that its client cancels keeps the batches that the client has counted",
  (engine) =>
    withPosts(engine, async (api) => {
      const rows = Array.from({ length: 12 }, (_, id) => ({ id, title: `${id}` }));
      const cancelling = new AbortController();
      const told: number[] = [];
      const importing = api.posts.import(rows, {
        size: 5,
        signal: cancelling.signal,
        onProgress(count) {
          told.push(count);
          if (count === 10) cancelling.abort(new Error("cancelled"));
        },
      });
      await assertRejects(() => importing, Error, "cancelled");
      assertEquals([told, await api.posts.count()], [[5, 10], 10]);
    }),
);

testOnDialects(
  "an import ends at a row that the service refuses",
  (engine) =>
    withPosts(engine, async (api) => {
      const rows = [{ title: "a" }, { title: "b" }, { title: JSON.parse("1") }, { title: "c" }];
      const refused = await assertRejects(() => api.posts.import(rows, { size: 2 }), ServiceError);
      assertEquals([refused.slug, refused.problem?.details?.index], ["validation-error", 0]);
      assertEquals(await api.posts.count(), 2);
    }),
);
