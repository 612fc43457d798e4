import { assertEquals, assertRejects } from "@std/assert";
import { type Client, rsql, ServiceError } from "../../../exports/client.ts";
import { testOnDialects } from "../../support/http.ts";
import { type PostsApi, withPosts } from "./posts_service.ts";

testOnDialects(
  "a client lists rows, with every parameter of a list",
  (engine) =>
    withPosts(engine, async (api) => {
      await api.authors.create({ id: 1, name: "Ada" });
      for (const [id, title] of ["Tea", "Cake", "Jam"].entries()) {
        await api.posts.create({ id, title, views: id * 10, authorId: id === 0 ? 1 : null });
      }
      await api.posts.delete(2);
      const page = await api.posts.list({
        filter: rsql`views>=${0}`,
        orderBy: ["-title"],
        select: ["title"],
        include: ["author"],
        limit: 1,
        totalCount: true,
        withDeleted: true,
      });
      assertEquals(page.items, [{ title: "Tea", author: { id: 1, name: "Ada" } }]);
      assertEquals([page.hasMore, page.totalCount], [true, 3]);
      const next = await api.posts.list({ orderBy: ["-title"], cursor: page.nextCursor });
      assertEquals(next.items.map(({ title }) => title), ["Cake"]);
      assertEquals((await api.posts.list({ cursor: null, limit: undefined })).items.length, 2);
    }),
);

testOnDialects(
  "a query that is too long for a URL is sent in a body",
  async (engine) => {
    const sent: string[] = [];
    const work = async (api: Client<PostsApi>) => {
      await api.posts.import(Array.from({ length: 9 }, (_, id) => ({ id, title: `é${id}+ &` })));
      const ids = Array.from({ length: 900 }, (_, index) => index * 2 + 1);
      const filter = rsql`id=in=${ids};title!=${"é".repeat(500)}`;
      sent.length = 0;
      const found: string[] = [];
      for await (const { title } of api.posts.all({ filter, limit: 2, select: ["id", "title"] })) {
        found.push(title);
      }
      assertEquals(found, ["é1+ &", "é3+ &", "é5+ &", "é7+ &"]);
      assertEquals((await api.posts.list({ filter: rsql`id=in=${[1, 2]}` })).items.length, 2);
      assertEquals(sent, ["POST /api/posts/query", "POST /api/posts/query", "GET /api/posts"]);
    };
    await withPosts(engine, work, ({ fetch }) => ({
      fetch: (request) => {
        sent.push(`${request.method} ${new URL(request.url).pathname}`);
        return Promise.resolve(fetch(request));
      },
    }));
  },
);

testOnDialects(
  "all and pages follow the cursor to the end",
  (engine) =>
    withPosts(engine, async (api) => {
      await api.posts.import(Array.from({ length: 25 }, (_, id) => ({ id, title: `${id}` })));
      const sizes: number[] = [];
      for await (const page of api.posts.pages({ limit: 10 })) sizes.push(page.items.length);
      assertEquals(sizes, [10, 10, 5]);
      const ids: number[] = [];
      for await (const { id } of api.posts.all({ select: ["id"], limit: 3, filter: "id>4" })) {
        ids.push(id);
        if (id === 17) break;
      }
      assertEquals(ids, Array.from({ length: 13 }, (_, index) => index + 5));
      assertEquals(await Array.fromAsync(api.posts.all({ filter: "id<0" })), []);
    }),
);

testOnDialects(
  "get gives a row with its tag, and null while the row still has it",
  (engine) =>
    withPosts(engine, async (api) => {
      const created = await api.posts.create({ id: 1, title: "Tea" });
      const { value, etag } = await api.posts.get(1, { select: ["title"] });
      assertEquals([value, etag], [{ title: "Tea" }, created.etag]);
      assertEquals(await api.posts.get(1, { ifNoneMatch: etag }), { value: null, etag });
      await api.posts.update(1, { title: "Cake" });
      assertEquals((await api.posts.get(1, { ifNoneMatch: etag })).value?.title, "Cake");
      assertEquals((await api.posts.get(1, { ifNoneMatch: null })).value?.title, "Cake");
      const missing = await assertRejects(() => api.posts.get(2), ServiceError);
      assertEquals([missing.slug, missing.status], ["not-found", 404]);
      assertEquals(missing.problem?.title, "Not found");
      await api.authors.create({ id: 1, name: "Ada" });
      assertEquals((await api.authors.get(1, { include: ["posts(limit:1)"] })).value, {
        ...{ id: 1, name: "Ada", posts: [] },
      });
      assertEquals((await api.authors.get(1)).etag, null);
    }),
);

testOnDialects(
  "count, aggregate, search and procedures answer as the service does",
  (engine) =>
    withPosts(engine, async (api) => {
      await api.posts.createBatch([
        { id: 1, title: "Green tea", views: 4, price: "2.50" },
        { id: 2, title: "Black tea", views: 6, price: "3.25" },
        { id: 3, title: "Cake", views: 1 },
      ]);
      assertEquals(await api.posts.count(), 3);
      assertEquals(await api.posts.count({ filter: rsql`title=endswith=${" tea"}` }), 2);
      const { groups } = await api.posts.aggregate({ sum: ["views", "price"], avg: ["views"] });
      assertEquals(groups[0]?.sum.price, "5.75");
      assertEquals(groups[0]?.key, null);
      const byViews = await api.posts.aggregate(
        {
          ...{ groupBy: ["views"], count: true, max: ["title"], orderBy: ["-views"] },
          ...{ having: rsql`views>${1}`, limit: 1 },
        } as const,
      );
      assertEquals(byViews, {
        groups: [{ key: { views: 6 }, count: 1, max: { title: "Black tea" } }],
        hasMore: true,
      });
      const found = await api.posts.search({ q: "tea", limit: 1, highlight: true });
      assertEquals([found.items.length, found.total], [1, 2]);
      assertEquals(Object.values(found.highlights ?? {}).length, 1);
      assertEquals(await api.posts.rpc.double({ n: 21 }), { n: 42 });
      assertEquals(await api.posts.rpc.nothing({}), { ok: true });
      const wrong = await assertRejects(() => api.posts.rpc.double(JSON.parse("{}")), ServiceError);
      assertEquals(wrong.slug, "validation-error");
    }),
);
