import { assertEquals, assertRejects } from "@std/assert";
import { createClient, ServiceError } from "../../../exports/client.ts";
import { all, integer, resource, table, text } from "../../../mod.ts";
import { testOnDialects, withService } from "../../support/http.ts";

const posts = table("posts", { id: integer().primaryKey(), title: text() });

interface Api {
  posts: {
    path: "/api/posts";
    key: number;
    row: { id: number; title: string };
    create: { title: string };
    update: { title?: string };
    relations: Record<never, never>;
    etag: true;
    procedures: Record<never, never>;
  };
}

testOnDialects("a client lists rows and gets one", (engine) =>
  withService(engine, [posts], () => ({
    resources: [
      resource(posts, { id: posts.id, etag: {}, auth: { public: true, create: () => all() } }),
    ],
  }), async ({ app, send }) => {
    await send("POST", "/api/posts", { id: 1, title: "Tea" }, { "x-user": "ada" });
    const api = createClient<Api>({ baseUrl: "http://localhost", fetch: app.fetch });
    const page = await api.posts.list({ select: ["title"], limit: 2 });
    assertEquals(page, { items: [{ title: "Tea" }], nextCursor: null, hasMore: false });
    const { value, etag } = await api.posts.get(1);
    assertEquals(value, { id: 1, title: "Tea" });
    assertEquals((await api.posts.get(1, { ifNoneMatch: etag })).value, null);
    const error = await assertRejects(() => api.posts.get(2), ServiceError);
    assertEquals([error.slug, error.status], ["not-found", 404]);
  }));
