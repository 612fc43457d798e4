import { assertEquals, assertRejects } from "@std/assert";
import { ConflictError, ServiceError } from "../../../exports/client.ts";
import { testOnDialects } from "../../support/http.ts";
import { withPosts } from "./posts_service.ts";

testOnDialects(
  "a handler merges what two clients have changed",
  (engine) =>
    withPosts(engine, async (api) => {
      const { value: base, etag } = await api.posts.create({ id: 1, title: "Tea" });
      await api.posts.update(1, { views: 5 });
      const { value } = await api.posts.update(1, { title: "Green tea" }, {
        ifMatch: etag,
        base,
        onConflict({ base, mine, theirs }) {
          assertEquals([base?.title, base?.views], ["Tea", 0]);
          assertEquals(mine, { title: "Green tea" });
          assertEquals(theirs.views, 5);
          return { ...mine, views: theirs.views + 1 };
        },
      });
      assertEquals([value.title, value.views, value.version], ["Green tea", 6, 3]);
    }),
);

testOnDialects(
  "a handler is asked again while others are faster, at most five times",
  (engine) =>
    withPosts(engine, async (api) => {
      const { etag } = await api.posts.create({ id: 1, title: "Tea" });
      await api.posts.update(1, { views: 1 });
      let calls = 0;
      const bases: unknown[] = [];
      const racing = (rounds: number) =>
        api.posts.update(1, { title: "mine" }, {
          ifMatch: etag,
          async onConflict({ base, theirs }) {
            bases.push(base?.views ?? null);
            if (++calls < rounds) await api.posts.update(1, { views: theirs.views + 1 });
            return { title: `mine ${calls}` };
          },
        });
      assertEquals((await racing(3)).value.title, "mine 3");
      // What was theirs is the base of the next conflict.
      assertEquals(bases, [null, 1, 2]);
      calls = 0;
      await assertRejects(() => racing(9), ConflictError);
      assertEquals(calls, 5);
      assertEquals((await api.posts.get(1)).value.title, "mine 3");
    }),
);

testOnDialects(
  "a conflict is thrown without a handler, and where it gives null",
  (engine) =>
    withPosts(engine, async (api) => {
      const { etag } = await api.posts.create({ id: 1, title: "Tea" });
      const { etag: current } = await api.posts.update(1, { views: 1 });
      for (const onConflict of [undefined, () => null, () => Promise.resolve(null)]) {
        const error = await assertRejects(
          () => api.posts.update(1, { title: "x" }, { ifMatch: etag, onConflict }),
          ConflictError,
        );
        assertEquals(error.currentETag, current);
      }
      assertEquals((await api.posts.get(1)).value.title, "Tea");
      // Whatever else goes wrong is no conflict.
      const onConflict = () => ({ title: "y" });
      const missing = await assertRejects(
        () => api.posts.update(2, { title: "x" }, { ifMatch: etag, onConflict }),
        ServiceError,
      );
      assertEquals(missing.slug, "not-found");
      await assertRejects(
        () =>
          api.posts.update(1, { title: "x" }, {
            ifMatch: etag,
            onConflict() {
              throw new RangeError("of the handler");
            },
          }),
        RangeError,
        "of the handler",
      );
    }),
);

testOnDialects("each patch of a merged update has a key of its own", (engine) => {
  const keys: (string | null)[] = [];
  return withPosts(engine, async (api) => {
    const { etag } = await api.posts.create({ id: 1, title: "Tea" });
    await api.posts.update(1, { views: 1 });
    const { value } = await api.posts.update(1, { title: "x" }, {
      ifMatch: etag,
      idempotencyKey: "a-key-of-this-update-only",
      onConflict: () => ({ title: "y" }),
    });
    assertEquals([value.title, value.views], ["y", 1]);
    const own = "a-key-of-this-update-only";
    assertEquals(keys, [null, own, `${own}.1`]);
  }, (app) => ({
    fetch(request) {
      if (request.method === "PATCH") keys.push(request.headers.get("idempotency-key"));
      return app.fetch(request);
    },
  }));
});
